import { setTimeout as wait } from 'node:timers/promises'
import { Child } from './child.ts'
import type { Cleanup } from './cleanup.ts'
import type { BrokerOfRun } from './demo-broker.ts'
import { killsEach, type PlannedKill, planKills, shareDone } from './kill-schedule.ts'
import type { Progress, ProgressReader } from './progress.ts'
import { seededRandom } from './seeded-random.ts'
import { type DemoSettings, settingsEnvironment } from './settings.ts'
import type { View } from './view.ts'
import type { WorkerName, Workers } from './workers.ts'

export interface Stage {
  readonly workers: Workers
  readonly broker: BrokerOfRun
  readonly view: View
  readonly progress: ProgressReader
  readonly cleanup: Cleanup
}

/** Longer than any lease. After it the run ends, and the verdict lists what is missing. */
const stalledMs = 30_000

/** Produces and kills until no work is left, or until nothing has progressed for a long time. */
export async function runToTheEnd(settings: DemoSettings, stage: Stage): Promise<void> {
  const over = new AbortController()
  const actors = [produce(settings, stage), killAtRandom(settings, stage, over.signal)]
  let acting = actors.length
  const acted = Promise.all(actors.map(actor => actor.then(() => acting--)))
  try {
    // A failing actor ends the run. After a finished one, the watch decides.
    await Promise.race([watch(stage, () => acting === 0), acted.then(() => new Promise<never>(() => {}))])
  } finally {
    over.abort()
  }
}

async function produce(settings: DemoSettings, { cleanup, progress }: Stage): Promise<void> {
  const producer = new Child({
    program: 'producer',
    env: settingsEnvironment(settings),
    onMessage: message => progress.heard(message),
  })
  cleanup.add(() => producer.kill())
  const { code } = await producer.exited
  if (code !== 0 && !cleanup.begun) throw new Error(`The producer failed: ${producer.said}`)
}

async function killAtRandom(
  settings: DemoSettings,
  { workers, progress }: Stage,
  over: AbortSignal,
): Promise<void> {
  const plan = planKills(seededRandom(settings.seed + 3), killsEach(settings.messages))
  const killEach = async (name: WorkerName, kills: readonly PlannedKill[]) => {
    for (const { share, delayMs } of kills) {
      while (!over.aborted && shareDone(name, progress.latest) < share) await wait(20)
      await workers.ready(name)
      await wait(delayMs)
      if (over.aborted) return
      await workers.kill(name)
    }
  }
  await Promise.all([...plan].map(([name, kills]) => killEach(name, kills)))
}

async function watch(
  { progress, view, broker, workers, cleanup }: Stage,
  actorsDone: () => boolean,
): Promise<void> {
  let last = ''
  let movedAt = performance.now()
  while (!cleanup.begun) {
    const now = await progress.read()
    view.show(now)
    const picture = JSON.stringify({ ...now, seconds: 0 })
    if (picture !== last) movedAt = performance.now()
    last = picture
    if (performance.now() - movedAt > stalledMs) return
    if (actorsDone() && (await isDone(now, broker, workers))) return
    await wait(200)
  }
}

async function isDone(now: Progress, broker: BrokerOfRun, workers: Workers): Promise<boolean> {
  if (now.completed < now.captures || now.outbox > 0 || workers.reported().batchesInFlight > 0) return false
  return (await broker.depth()) === 0
}
