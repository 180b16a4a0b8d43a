import type { BatchItem, SqlTransaction } from '../../contract/handler.ts'
import type { Verdict } from '../../engine/batch/verdicts.ts'
import { OncewardError } from '../../errors.ts'
import { rerunBatch } from '../declared/rerun.ts'
import { type AggregateChange, type AppliedTransition, foldTransitions } from './aggregate-states.ts'
import type { KnownTransition } from './classify.ts'
import type { TransitionDeclaration } from './declaration.ts'
import type { TransitionRequest } from './read-request.ts'
import type { Moves } from './state-machine.ts'
import type { TransitionStatements } from './statements.ts'

/**
 * Takes four statements for a batch of any size: lock the aggregates in key order, read which transitions
 * happened, write the new states, add the facts. The facts are read after the locks are held, so any
 * transaction that made one of these transitions has committed by then.
 */
export async function applyTransitions<M>(
  tx: SqlTransaction,
  requests: readonly TransitionRequest<M>[],
  declared: TransitionDeclaration<M>,
  machine: Moves | null,
  sql: TransitionStatements,
  verdicts: Map<BatchItem<M>, Verdict>,
): Promise<readonly AppliedTransition<M>[]> {
  const aggregates = await lockAggregates(tx, requests, sql)
  const known = await readFacts(tx, requests, sql)
  const { changes, applied } = foldTransitions(requests, aggregates, known, declared, machine, verdicts)
  if (applied.length === 0) return applied
  await writeChanges(tx, changes, declared, sql)
  await addFacts(tx, applied, sql)
  return applied
}

/** Indexed by the key as messages write it. Two spellings of one key share one aggregate. */
async function lockAggregates<M>(
  tx: SqlTransaction,
  requests: readonly TransitionRequest<M>[],
  sql: TransitionStatements,
): Promise<ReadonlyMap<string, AggregateChange>> {
  const asked = [...new Set(requests.map(request => request.key))]
  const { rows } = await tx.query<{ asked: string; key: string; state: string; version: string | null }>(
    sql.lock,
    [asked],
  )
  const byKey = new Map<string, AggregateChange>()
  const aggregates = new Map<string, AggregateChange>()
  for (const { asked, key, state, version } of rows) {
    const found = { state, version: version === null ? null : BigInt(version) }
    const aggregate = byKey.get(key) ?? { key, found, standing: found, set: [], moved: false }
    byKey.set(key, aggregate)
    aggregates.set(asked, aggregate)
  }
  const missing = asked.filter(key => !aggregates.has(key))
  for (const [spelt, key] of await spellKeys(tx, missing, sql)) {
    const aggregate = byKey.get(key) ?? { key, found: null, standing: null, set: [], moved: false }
    byKey.set(key, aggregate)
    aggregates.set(spelt, aggregate)
  }
  return aggregates
}

async function spellKeys(
  tx: SqlTransaction,
  keys: readonly string[],
  sql: TransitionStatements,
): Promise<readonly (readonly [string, string])[]> {
  if (keys.length === 0 || sql.spell === null) return keys.map(key => [key, key])
  const { rows } = await tx.query<{ asked: string; key: string }>(sql.spell, [keys])
  return rows.map(row => [row.asked, row.key])
}

async function readFacts<M>(
  tx: SqlTransaction,
  requests: readonly TransitionRequest<M>[],
  sql: TransitionStatements,
): Promise<ReadonlyMap<string, KnownTransition>> {
  const { rows } = await tx.query<{
    transition_id: string
    aggregate_id: string
    from_state: string | null
    to_state: string
    version: string | null
  }>(sql.readFacts, [requests.map(request => request.transitionId)])
  return new Map(
    rows.map(row => [
      row.transition_id,
      {
        aggregate: row.aggregate_id,
        from: row.from_state,
        to: row.to_state,
        version: row.version === null ? null : BigInt(row.version),
      },
    ]),
  )
}

async function writeChanges<M>(
  tx: SqlTransaction,
  changes: readonly AggregateChange[],
  declared: TransitionDeclaration<M>,
  sql: TransitionStatements,
): Promise<void> {
  const columns = Object.keys(declared.set ?? {}).length
  const created = changes.filter(({ found }) => found === null).sort((a, b) => (a.key < b.key ? -1 : 1))
  const updated = changes.filter(({ found }) => found !== null)
  if (created.length > 0) {
    const { rowCount } = await tx.query(sql.create, changeArrays(created, columns))
    if (rowCount !== created.length) await rerunBatch(tx, 'another transaction created an aggregate')
  }
  if (updated.length > 0) {
    const { rowCount } = await tx.query(sql.update, changeArrays(updated, columns))
    if (rowCount !== updated.length) throw notWritten(declared, updated.length - rowCount)
  }
}

/** A locked row was not written: a trigger, a rule or row-level security prevented it. */
function notWritten<M>({ aggregate }: TransitionDeclaration<M>, count: number): OncewardError {
  return new OncewardError(
    'effect_halted',
    `${count} rows of ${aggregate.table} were locked for a transition but not updated. A trigger, a rule or row-level security prevents this role from writing them. Nothing was committed.`,
  )
}

function changeArrays(changes: readonly AggregateChange[], columns: number): unknown[] {
  const version = (standing: AggregateChange['standing']) => standing?.version?.toString() ?? null
  const values = Array.from({ length: columns }, (_, n) => [
    changes.map(({ set }) => set[n] ?? null),
    changes.map(({ set }) => set[n] !== undefined),
  ])
  return [
    changes.map(({ key }) => key),
    changes.map(({ found }) => found?.state ?? null),
    changes.map(({ found }) => version(found)),
    changes.map(({ standing }) => standing!.state),
    changes.map(({ standing }) => version(standing)),
    ...values.flat(),
  ]
}

async function addFacts<M>(
  tx: SqlTransaction,
  applied: readonly AppliedTransition<M>[],
  sql: TransitionStatements,
): Promise<void> {
  const { rowCount } = await tx.query(sql.addFacts, [
    applied.map(({ request }) => request.transitionId),
    applied.map(({ aggregate }) => aggregate),
    applied.map(({ move }) => move.from),
    applied.map(({ move }) => move.to),
    applied.map(({ request }) => request.version?.toString() ?? null),
    applied.map(({ request }) => request.actor),
    applied.map(({ request }) => request.reason),
    applied.map(({ request }) => request.item.envelope.id),
  ])
  if (rowCount !== applied.length) await rerunBatch(tx, 'another transaction took a transition id')
}
