import {
  type After,
  type AuditResult,
  audit,
  type ConsumerContract,
  type ContributionDeclaration,
  contribution,
  type SqlTransaction,
  type TransitionDeclaration,
  type TransitionResult,
  transition,
} from 'onceward'

/**
 * Consumers of one declared effect each, and the tables they need. The tests and the processes they kill
 * share them.
 */

export interface Step {
  readonly id: string
  readonly transitionId: string
  readonly caseId: string
  readonly event: string
  readonly version: number
  readonly outcome?: string | null
}

export const machine = {
  initial: 'new',
  states: ['new', 'review', 'escalated', 'closed'],
  events: {
    Opened: { from: null, to: 'new' },
    ReviewStarted: { from: 'new', to: 'review' },
    Escalated: { from: 'review', to: 'escalated' },
    Closed: { from: ['review', 'escalated'], to: 'closed' },
    ClosureCorrected: { from: 'closed', to: 'closed' },
  },
} as const

export const workflowTables = `
  create table workflow (case_id text primary key, state text not null, version bigint not null, outcome text);
  create table workflow_fact (seq bigint generated always as identity primary key, transition_id text collate "C" not null unique,
    consumer text not null, aggregate_id text not null, from_state text, to_state text not null, version bigint not null,
    actor text, reason text, message_id text not null, at timestamptz not null default now())`

export const workflow = (changes: Partial<TransitionDeclaration<Step>> = {}) =>
  transition<Step>({
    machine,
    aggregate: { table: 'workflow', key: 'case_id', state: 'state', version: 'version' },
    facts: 'workflow_fact',
    aggregateId: m => m.caseId,
    transitionId: m => m.transitionId,
    event: m => m.event,
    version: m => m.version,
    actor: () => 'officer',
    reason: m => `because of ${m.event}`,
    set: { outcome: m => m.outcome },
    retryDelayMs: 40,
    ...changes,
  })

/** The same, and each move is also a row of another table, a message and a call. */
export const followed = () => workflow({ after: followMove })

export const followTables = 'create table move_seen (id text primary key, step text not null)'

export const followMove: After<Step, TransitionResult> = async ({ result, tx, effects }) => {
  const { aggregateId, from, to, version } = result
  const step = `${aggregateId} ${from} ${to} ${version}`
  await tx.query('insert into move_seen (id, step) values ($1, $2)', [result.transitionId, step])
  effects.publish('moved', { key: aggregateId, body: { step } })
  effects.external('partner', { key: result.transitionId, body: { step } })
}

/** For `followMove`. */
export const followTargets = {
  publish: { moved: { broker: 'kafka', topic: 'moves' } },
  external: { partner: { kind: 'http', url: 'https://partner.example/moves', policy: 'keyed' } },
} as const

export interface Minutes {
  readonly id: string
  readonly eventId: string
  readonly team: string
  readonly at: number
  readonly minutes: number | string
  readonly corrects?: string
  readonly withdrawn?: boolean
}

export const minutesTables = `
  create table minutes_fact (event_id text collate "C" not null, sign smallint not null, reverses text collate "C", key text not null,
    window_start timestamptz not null, occurred_at timestamptz not null, minutes numeric not null, message_id text, primary key (event_id, sign));
  create unique index on minutes_fact (reverses) where reverses is not null;
  create table minutes_window (key text not null, window_start timestamptz not null, count bigint not null, minutes numeric not null,
    latest_at timestamptz not null, primary key (key, window_start))`

export const minutes = (
  late: 'accept' | 'stale' | 'park' = 'accept',
  changes: Partial<ContributionDeclaration<Minutes>> = {},
) =>
  contribution<Minutes>({
    facts: 'minutes_fact',
    summary: 'minutes_window',
    window: { sizeMs: 60_000, latenessMs: 30_000, late },
    at: m => m.at,
    key: m => m.team,
    eventId: m => m.eventId,
    values: { minutes: m => m.minutes },
    corrects: m => m.corrects,
    withdraws: m => m.withdrawn === true,
    retryDelayMs: 40,
    ...changes,
  })

export interface Entry {
  readonly id: string
  readonly entryId: string
  readonly account: string
  readonly amount: string
  readonly corrects?: string
}

export const ledgerTables = `
  create table entry (event_id text collate "C" not null, sign smallint not null, reverses text collate "C", key text not null,
    amount numeric(14,2) not null, consumer text, message_id text, primary key (event_id, sign));
  create unique index on entry (reverses) where reverses is not null;
  create table balance (key text primary key, count bigint not null, amount numeric(14,2) not null)`

export const ledger = (notNegative: readonly string[] = ['amount']) =>
  contribution<Entry>({
    facts: 'entry',
    summary: 'balance',
    window: 'none',
    key: m => m.account,
    eventId: m => m.entryId,
    values: { amount: m => m.amount },
    corrects: m => m.corrects,
    notNegative,
    retryDelayMs: 40,
  })

export interface Deed {
  readonly id: string
  readonly eventId: string
  readonly who: string
  readonly what: { readonly action: string }
}

export const auditTables = `
  create table deed (event_id text collate "C" primary key, digest bytea not null, consumer text not null, message_id text not null,
    recorded_at timestamptz not null default now(), who text, what jsonb)`

export const deeds = (after?: After<Deed, AuditResult>) =>
  audit<Deed>({
    table: 'deed',
    eventId: m => m.eventId,
    columns: { who: m => m.who, what: m => m.what },
    ...(after && { after }),
  })

export const effects = { workflow, followed, minutes, ledger, deeds }
export type EffectName = keyof typeof effects

export const tables = [workflowTables, followTables, minutesTables, ledgerTables, auditTables].join(';')

type Contract = ConsumerContract<unknown, SqlTransaction>

export function contractOf(
  apply: unknown,
  source: { kind: string },
  name: string,
  changes: Partial<Contract> = {},
): Contract {
  return {
    name,
    owner: 'tests',
    risk: 'regulatory',
    source,
    identity: { id: m => (m as { id: string }).id },
    failure: { attemptsMax: 1_000 },
    effect: { apply, ...followTargets } as NonNullable<Contract['effect']>,
    ...changes,
  }
}
