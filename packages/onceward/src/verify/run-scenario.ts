import { setTimeout as sleep } from 'node:timers/promises'
import type { ChildObservation, ContractFacts, HandlerEnvironment } from './child/orders.ts'
import type { ChildPool } from './child-pool.ts'
import type { Fault } from './fault.ts'
import type { FedMessage } from './feed.ts'
import type { BrokenInvariant, Invariant } from './invariants.ts'
import type { RunTurns } from './run-turns.ts'
import { ScenarioRun } from './scenario-run.ts'
import type { ScratchDatabases } from './scratch-databases.ts'
import type { Snapshot } from './snapshot.ts'

/** What all runs of one verification share. */
export interface Bench {
  readonly databases: ScratchDatabases
  readonly children: ChildPool
  readonly turns: RunTurns
  readonly facts: ContractFacts
  readonly file: string
  readonly policy: string | null
  readonly seed: number
  readonly stubPort: number
  readonly allowed: readonly string[]
  /** Longest time of one run. */
  readonly runMaxMs: number
  /** What is left of the budget; a run that needs longer is cut. */
  readonly leftMs: () => number
  readonly folder: string
  readonly invariants: Readonly<Record<string, Invariant>>
  readonly signal?: AbortSignal | undefined
}

export interface VerifyRun {
  readonly messages: readonly FedMessage[]
  readonly fault: Fault | null
  /** One message after the other. Default: only without a fault. */
  readonly serial?: boolean
  readonly environment: HandlerEnvironment
  readonly sequencesMoved?: boolean
}

export interface RunResult {
  readonly snapshot: Snapshot
  /** What the processes saw; those that died are missing. */
  readonly observed: readonly ChildObservation[]
  /** False: the fault's moment did not come in this run. */
  readonly reached: boolean
  /** Why the run did not end by itself; null if it did. */
  readonly trouble: string | null
  /** The budget ended first: nothing else here counts. */
  readonly cut: boolean
  readonly broken: readonly BrokenInvariant[]
}

/** One run of the user's consumer on a fresh database, with at most one fault. */
export async function runScenario(bench: Bench, scenario: VerifyRun): Promise<RunResult> {
  bench.signal?.throwIfAborted()
  // A restart of the server would disturb the other runs.
  const alone = scenario.fault?.class === 'restart' && bench.databases.restartsServer
  const leave = await bench.turns.enter(alone ? 'alone' : 'shared')
  try {
    return await runOn(bench, scenario)
  } finally {
    leave()
  }
}

async function runOn(bench: Bench, scenario: VerifyRun): Promise<RunResult> {
  if (bench.leftMs() <= 0) return cutRun
  const database = await bench.databases.copy()
  const run = new ScenarioRun(bench, scenario, database)
  const ended = new AbortController()
  try {
    const cut = sleep(Math.max(0, bench.leftMs()), cutRun, { signal: ended.signal })
    return await Promise.race([run.run(), cut])
  } finally {
    ended.abort()
    await run.close()
    await database.drop()
  }
}

const cutRun: RunResult = {
  snapshot: { tables: new Map(), intents: [], outcomes: [] },
  observed: [],
  reached: false,
  trouble: null,
  broken: [],
  cut: true,
}
