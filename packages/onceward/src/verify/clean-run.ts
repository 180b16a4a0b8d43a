import type { ChildObservation, Leak } from './child/orders.ts'
import { differingColumns, type Masks } from './compare-snapshots.ts'
import type { FedMessage } from './feed.ts'
import { type Bench, type RunResult, runScenario } from './run-scenario.ts'
import type { Snapshot } from './snapshot.ts'

/** The clock and the random numbers of handlers in most runs, and others to compare with. */
export const usualEnvironment = { nowMs: Date.UTC(2026, 0, 5, 12), seed: 1 }
export const otherEnvironment = { nowMs: Date.UTC(2031, 6, 8, 21, 3, 17, 431), seed: 977 }

/** A column whose values differ between two clean runs. */
export interface VolatileColumn {
  /** `table.column`, `calls.key`, `publications.body` and the like. */
  readonly column: string
  /** `database`: its time or a sequence. `handler`: the clock or random numbers of the handler. */
  readonly from: 'database' | 'handler'
}

/** A table whose number of rows differs between clean runs. */
export interface VolatileTable {
  readonly table: string
  readonly from: VolatileColumn['from']
}

export interface Baseline {
  readonly snapshot: Snapshot
  readonly observed: ChildObservation
  readonly leaks: readonly Leak[]
  readonly volatile: readonly VolatileColumn[]
  readonly volatileTables: readonly VolatileTable[]
  readonly masks: Masks
  /** Why the clean run could not be finished; null if it was. */
  readonly trouble: string | null
  /** The budget ended before the clean runs did. */
  readonly cut: boolean
}

/**
 * Three clean serial runs: the reference, one whose sequences start elsewhere at another time of the
 * database, and one with another clock and other random numbers inside handlers.
 */
export async function cleanRuns(bench: Bench, messages: readonly FedMessage[]): Promise<Baseline> {
  const [usual, moved, other] = await Promise.all([
    runScenario(bench, { messages, fault: null, environment: usualEnvironment }),
    runScenario(bench, { messages, fault: null, environment: usualEnvironment, sequencesMoved: true }),
    runScenario(bench, { messages, fault: null, environment: otherEnvironment }),
  ])
  if (moved.cut || other.cut) return baselineOf({ ...usual, cut: true }, [], [])
  const byDatabase = differingColumns(usual.snapshot, moved.snapshot)
  const byHandler = differingColumns(usual.snapshot, other.snapshot)
  const volatile: VolatileColumn[] = [
    ...[...byDatabase].map(column => ({ column, from: 'database' as const })),
    ...[...byHandler]
      .filter(column => !byDatabase.has(column))
      .map(column => ({ column, from: 'handler' as const })),
  ]
  return baselineOf(usual, volatile, [
    ...tablesWithOtherCounts(usual.snapshot, moved.snapshot, 'database'),
    ...tablesWithOtherCounts(usual.snapshot, other.snapshot, 'handler'),
  ])
}

function tablesWithOtherCounts(
  { tables }: Snapshot,
  other: Snapshot,
  from: VolatileColumn['from'],
): VolatileTable[] {
  const names = [...tables].filter(([name, rows]) => rows.length !== other.tables.get(name)?.length)
  return names.map(([table]) => ({ table, from }))
}

/** A clean run of fewer messages, with the columns already known. */
export async function cleanRun(
  bench: Bench,
  messages: readonly FedMessage[],
  { volatile }: Pick<Baseline, 'volatile'>,
): Promise<Baseline> {
  return baselineOf(
    await runScenario(bench, { messages, fault: null, environment: usualEnvironment }),
    volatile,
    [],
  )
}

const nothing: ChildObservation = { points: {}, statements: [], leaks: [], calls: 0 }

function baselineOf(
  { snapshot, observed, trouble, cut }: RunResult,
  volatile: readonly VolatileColumn[],
  volatileTables: readonly VolatileTable[],
): Baseline {
  const [seen = nothing] = observed
  const codes = snapshot.outcomes.map(({ code }) => code)
  const leaks = [...seen.leaks]
  if (codes.includes('tx_not_awaited')) leaks.push({ kind: 'not awaited', what: 'tx.query' })
  if (codes.includes('tx_error_swallowed')) leaks.push({ kind: 'swallowed error', what: 'tx.query' })
  const masks = new Set(volatile.map(({ column }) => column))
  return { snapshot, observed: seen, leaks, volatile, volatileTables, masks, trouble, cut }
}
