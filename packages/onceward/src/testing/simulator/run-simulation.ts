import type { CrashPoint } from '../../crash-points.ts'
import { type FaultKind, faultsOf } from './faults.ts'
import type { InvariantName } from './invariants.ts'
import { type ScenarioName, simulationScenarios } from './scenarios.ts'
import { type Around, Schedule, type ScheduleResult } from './schedule.ts'

/** How many schedules of which scenarios are simulated. */
export interface SimulationOptions {
  /** How many, one after the other. */
  readonly schedules: number
  /** The number of the first schedule; the others follow it. Default 1. */
  readonly seed?: number
  readonly scenario: ScenarioName
  /** Which kinds of fault may strike. Default all that can happen to the scenario's source. */
  readonly faults?: readonly FaultKind[]
  readonly around?: Around
}

/** What a simulation ran and found. */
export interface SimulationReport {
  readonly scenario: ScenarioName
  readonly schedules: number
  readonly steps: number
  readonly faultsFired: Readonly<Partial<Record<FaultKind, number>>>
  /** Kills, by the crash point the process had passed last. */
  readonly killsAfter: Readonly<Partial<Record<CrashPoint, number>>>
  /** The first schedule that violated an invariant; the run ends there. */
  readonly failure?: SimulationFailure
}

/** A schedule that broke an invariant, with all that repeats it. */
export interface SimulationFailure {
  /** With `faults` and the scenario it replays the schedule. */
  readonly seed: number
  /** The fewest kinds of fault that still violate it. */
  readonly faults: readonly FaultKind[]
  readonly step: number
  readonly invariant: InvariantName
  readonly what: string
  /** What happened, a line per step. */
  readonly trace: readonly string[]
}

/**
 * Runs the shipped engine through schedules, each determined by its number, until one violates an invariant.
 */
export async function runSimulation(options: SimulationOptions): Promise<SimulationReport> {
  const { schedules, seed = 1, scenario } = options
  const faultsFired: Partial<Record<FaultKind, number>> = {}
  const killsAfter: Partial<Record<CrashPoint, number>> = {}
  let steps = 0
  for (let index = 0; index < schedules; index++) {
    const result = await run(options, seed + index)
    steps += result.steps
    for (const [kind, count] of result.fired) faultsFired[kind] = (faultsFired[kind] ?? 0) + count
    for (const [point, count] of result.kills) killsAfter[point] = (killsAfter[point] ?? 0) + count
    if (result.broken !== null) {
      const failure = await explain(options, seed + index, result)
      return { scenario, schedules: index + 1, steps, faultsFired, killsAfter, failure }
    }
    // Timers and signals of the process that runs the simulation get their turn.
    if (index % 64 === 63) await new Promise(resolve => setImmediate(resolve))
  }
  return { scenario, schedules, steps, faultsFired, killsAfter }
}

/** One schedule, with its trace. Two runs with the same options have the same hash. */
export function traceSchedule(options: Omit<SimulationOptions, 'schedules'>): Promise<ScheduleResult> {
  return run({ ...options, schedules: 1 }, options.seed ?? 1, true)
}

/**
 * Removes kinds of fault while the same invariant is still violated, then runs the rest again with a trace.
 */
async function explain(
  options: SimulationOptions,
  seed: number,
  { broken }: ScheduleResult,
): Promise<SimulationFailure> {
  const { invariant } = broken!
  let faults = allowed(options)
  for (let fewer: readonly FaultKind[] | null = faults; fewer !== null; ) {
    faults = fewer
    fewer = await leaveOut(options, seed, faults, invariant)
  }
  const { steps, trace, broken: last } = await run({ ...options, faults }, seed, true)
  return { seed, faults, step: steps, invariant, what: last!.what, trace }
}

/**
 * Fewer kinds with which the schedule violates the same invariant: those that struck, or all but one. Null
 * when there are none, so that a schedule is explained in the same way each time it is replayed.
 */
async function leaveOut(
  options: SimulationOptions,
  seed: number,
  faults: readonly FaultKind[],
  invariant: InvariantName,
): Promise<readonly FaultKind[] | null> {
  const { fired } = await run({ ...options, faults }, seed)
  const candidates = [
    faults.filter(kind => fired.has(kind)),
    ...faults.map(kind => faults.filter(other => other !== kind)),
  ]
  for (const fewer of candidates.filter(({ length }) => length < faults.length)) {
    const { broken } = await run({ ...options, faults: fewer }, seed)
    if (broken?.invariant === invariant) return fewer
  }
  return null
}

function allowed({ scenario, faults }: SimulationOptions): readonly FaultKind[] {
  return faults ?? faultsOf(simulationScenarios[scenario].source)
}

function run(options: SimulationOptions, seed: number, traced = false): Promise<ScheduleResult> {
  const { scenario, around } = options
  return new Schedule({
    seed,
    name: scenario,
    scenario: simulationScenarios[scenario],
    faults: allowed(options),
    traced,
    ...(around !== undefined && { around }),
  }).run()
}
