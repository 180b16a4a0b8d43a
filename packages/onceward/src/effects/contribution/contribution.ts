import type { DeclaredEffect, EffectContext, EffectTrace } from '../../contract/declared-effect.ts'
import { durationText } from '../../contract/duration.ts'
import type { BatchItem, SqlTransaction } from '../../contract/handler.ts'
import type { Verdict } from '../../engine/batch/verdicts.ts'
import { invariant, OncewardError } from '../../errors.ts'
import { afterOf } from '../declared/after.ts'
import { type ItemReader, readAll, unreadableCode } from '../declared/fields.ts'
import { applyContributions } from './apply-contributions.ts'
import { contributionProblems } from './contribution-problems.ts'
import {
  type ContributionDeclaration,
  type ContributionResult,
  type ContributionWindow,
  lateCode,
  refusalCodes,
} from './declaration.ts'
import { type Contribution, factReader, windowsOf } from './read-fact.ts'
import { type ContributionStatements, statementsFor } from './statements.ts'
import { verifyContributionTables } from './verify-tables.ts'

/** An effect made by `contribution(...)`. */
export interface ContributionEffect<M> extends DeclaredEffect<M> {
  /**
   * Recounts all facts and compares them with the summary, in one statement and so in one snapshot. No rows:
   * the summary matches the facts exactly. Another table of the same shape may be compared instead.
   */
  drift(query: SqlTransaction['query'], summary?: string): Promise<readonly Drift[]>
  /** Writes the summary of the facts to an empty table of the same shape. */
  rebuild(query: SqlTransaction['query'], into: string): Promise<void>
  /**
   * Deletes and recomputes the windows that begin in [from, to). Runs in your transaction, which blocks
   * writers. Needs a declaration with windows.
   */
  recompute(tx: SqlTransaction, time: { readonly from: Date; readonly to: Date }): Promise<void>
}

/** A row of the summary and the same row counted from the facts; null where it does not exist. */
export interface Drift {
  readonly key: string
  readonly held: Readonly<Record<string, unknown>> | null
  readonly counted: Readonly<Record<string, unknown>> | null
}

/**
 * Counts facts, not deliveries: one row per event id, with counts and sums by key and window in the same
 * transaction. A correction is a reversing entry and a new fact. Facts are never updated or deleted, so the
 * sums can be recounted at any time.
 */
export function contribution<M>(declared: ContributionDeclaration<M>): ContributionEffect<M> {
  let ready: {
    sql: ContributionStatements
    read: ItemReader<M, Contribution<M>>
    withEvidence: boolean
  } | null = null
  const prepare = async (query: SqlTransaction['query']) => {
    const shape = await verifyContributionTables(declared, query)
    const withEvidence = shape.columns.has('message_id')
    ready = { sql: statementsFor(declared, shape), read: factReader(declared, shape), withEvidence }
    return ready
  }
  return {
    kind: 'contribution',
    codes: [...Object.values(refusalCodes), lateCode, unreadableCode],
    ...(isWindow(declared?.window) && {
      repeatsMs: declared.window.sizeMs + declared.window.latenessMs,
      details: windowText(declared.window),
    }),
    tables: [declared?.facts, declared?.summary],
    problems() {
      const problems: { place: string; text: string }[] = []
      contributionProblems(declared, (place, text) => void problems.push({ place, text }))
      return problems
    },
    traces: () => [traceOf(declared)],
    async verify(query) {
      await prepare(query)
    },
    async apply({ batch, tx, report }: EffectContext<M>) {
      invariant(ready !== null, 'a contribution is verified before it is applied')
      const verdicts = new Map<BatchItem<M>, Verdict>()
      const facts = readAll(batch, ready.read, verdicts)
      if (facts.length > 0)
        await applyContributions(tx, facts, declared, ready.sql, ready.withEvidence, verdicts)
      if (report !== undefined)
        for (const fact of facts)
          if (!verdicts.has(fact.item)) report(fact.item, fact.key, resultOf(fact, declared))
      return verdicts
    },
    ...afterOf(declared),
    async drift(query, summary = declared.summary) {
      const { sql } = ready ?? (await prepare(query))
      return (await query<Drift & Record<string, unknown>>(sql.drift(summary))).rows
    },
    async rebuild(query, into) {
      const { sql } = ready ?? (await prepare(query))
      await query(sql.rebuild(into))
    },
    async recompute(tx, { from, to }) {
      const sql = async () => (ready ?? (await prepare(tx.query.bind(tx)))).sql
      await recomputeWindows(tx, declared, { from, to }, sql)
    },
  }
}

function traceOf<M>(declared: ContributionDeclaration<M>): EffectTrace {
  return {
    table: declared.facts,
    message: 'message_id',
    key: 'key',
    version: null,
    at: declared.at === undefined ? null : 'occurred_at',
    consumer: 'consumer',
    covers: 'all',
    shown: ['event_id', 'sign'],
    content: Object.keys(declared.values ?? {}),
  }
}

async function recomputeWindows<M>(
  tx: SqlTransaction,
  { window, summary }: ContributionDeclaration<M>,
  { from, to }: { readonly from: Date; readonly to: Date },
  statements: () => Promise<ContributionStatements>,
): Promise<void> {
  if (window === 'none')
    throw new OncewardError(
      'usage',
      `A ledger has no windows to recompute: rebuild ${summary} as a whole. Nothing was changed.`,
    )
  const [lock, remove, write] = (await statements()).recompute
  await tx.query(lock)
  await tx.query(remove, [from, to])
  await tx.query(write, [from, to])
}

function resultOf<M>(
  { eventId, key, windowMs, corrects, withdraws }: Contribution<M>,
  { window }: ContributionDeclaration<M>,
): ContributionResult {
  const starts = window === 'none' || withdraws ? [] : windowsOf(windowMs!, window)
  return { eventId, key, windowsMs: starts, reversed: corrects }
}

const lateTexts: Readonly<Record<ContributionWindow['late'], string>> = {
  stale: 'are not counted',
  park: 'are parked',
  accept: 'are counted',
}

function windowText({ sizeMs, everyMs, latenessMs, late }: ContributionWindow): string {
  const every = everyMs === undefined ? '' : `, one every ${durationText(everyMs)}`
  return `windows of ${durationText(sizeMs)}${every}; events more than ${durationText(latenessMs)} late ${lateTexts[late]}`
}

/** Declarations are not validated yet. */
function isWindow(window: unknown): window is ContributionWindow {
  return window !== null && typeof window === 'object'
}
