import { join } from 'node:path'
import { type Happened, runPlan } from './faults/run-plan.ts'
import type { Stage } from './faults/stage.ts'
import { type Evidence, gatherEvidence } from './oracle/evidence.ts'
import type { FaultPlan } from './plan/faults.ts'
import { Child } from './processes/child.ts'
import { environmentOf } from './processes/settings.ts'
import { settle } from './settle.ts'

const drainMs = 40_000

/** Produces while faults happen, waits until nothing is left to do, and reads what everyone wrote down. */
export async function act(
  stage: Stage,
  plan: FaultPlan,
): Promise<{ happened: Happened; evidence: Evidence }> {
  const { settings, fleet, broker, log, folder, signal } = stage
  signal.throwIfAborted()
  await fleet.start()
  log.add('running', { mode: settings.mode, messages: settings.messages })
  let share = 0
  const producer = new Child({
    program: 'producer',
    env: environmentOf(settings),
    logFile: join(folder, 'producer.log'),
    onMessage: message => {
      share = message.share as number
    },
  })
  const stop = () => {
    producer.signal('SIGKILL')
    fleet.leave()
  }
  signal.addEventListener('abort', stop)
  try {
    const producing = producer.ended.then(({ code }) => {
      share = 1
      if (code !== 0) throw new Error(`the producer ended with ${code}; see ${folder}/producer.log`)
    })
    // Also when the producer fails: a fault under way must not outlive its servers.
    const [planned] = await Promise.allSettled([runPlan(plan, stage, () => share), producing])
    signal.throwIfAborted()
    await producing
    if (planned.status === 'rejected') throw planned.reason
    log.add('settling')
    await settle(stage)
    const late = await fleet.drain(drainMs)
    const depth = await broker.depth(settings)
    const copies = await broker.copies(settings.output)
    const deadLetters = await broker.copies(settings.deadLetters)
    const evidence = await gatherEvidence(settings, { copies, deadLetters, depth, halts: fleet.halts, late })
    log.add('ended')
    return { happened: planned.value, evidence }
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
}
