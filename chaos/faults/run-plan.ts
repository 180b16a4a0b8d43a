import { setTimeout as wait } from 'node:timers/promises'
import type { FaultPlan, PlannedFault } from '../plan/faults.ts'
import { people } from './people.ts'
import { processFaults } from './process-faults.ts'
import { serverFaults } from './server-faults.ts'
import type { Fault, Stage } from './stage.ts'

const faults: Readonly<Record<string, Fault>> = { ...processFaults, ...serverFaults, ...people }
/** Together longer than a broker needs to come back on a busy machine. */
const pausesMs = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000]

/** How often each kind of fault happened. */
export type Happened = Record<string, number>

/** Runs the tracks side by side. A fault waits for its share of confirmed messages, not for a time. */
export async function runPlan(
  plan: FaultPlan,
  stage: Stage,
  progress: () => number,
  pause: (ms: number) => Promise<unknown> = ms =>
    wait(ms, undefined, { signal: stage.signal }).catch(() => {}),
): Promise<Happened> {
  const happened: Happened = {}
  const runTrack = async (planned: readonly PlannedFault[]) => {
    for (const fault of planned) {
      while (!stage.signal.aborted && progress() < fault.at) await wait(20)
      if (stage.signal.aborted) return
      if (await stageFault(fault, stage, pause)) happened[fault.kind] = (happened[fault.kind] ?? 0) + 1
    }
  }
  await Promise.all(Object.values(plan).map(runTrack))
  return happened
}

/** An operator whose command met a dead server tries again; the failures are in the log. */
async function stageFault(
  { kind, draw }: PlannedFault,
  stage: Stage,
  pause: (ms: number) => Promise<unknown>,
): Promise<boolean> {
  for (let tries = 1; !stage.signal.aborted; tries++) {
    stage.log.add('fault begins', { kind })
    try {
      const facts = await faults[kind]!(stage, draw)
      stage.log.add('fault', { kind, ...facts })
      return true
    } catch (error) {
      stage.log.add('fault failed', { kind, tries, error: String(error) })
      const pauseMs = pausesMs[tries - 1]
      if (pauseMs === undefined) return false
      await pause(pauseMs)
    }
  }
  return false
}
