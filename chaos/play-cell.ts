import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePorts } from '../packages/onceward/test/services/free-ports.ts'
import { act } from './act.ts'
import type { EventLog } from './event-log.ts'
import type { Stage } from './faults/stage.ts'
import { keepEvidence, keepRemains } from './keep-evidence.ts'
import { isClean, judge } from './oracle/judge.ts'
import { type FaultPlan, planFaults } from './plan/faults.ts'
import { prepareBusiness } from './prepare-business.ts'
import { fakeClock } from './processes/fake-clock.ts'
import { Fleet } from './processes/fleet.ts'
import { type ChaosSettings, modeOf, sendLogName } from './processes/settings.ts'
import type { CellRequest, Played } from './run-cell.ts'
import { startBroker } from './servers/broker.ts'
import { startDatabase } from './servers/database.ts'

const messagesPerSecond = 30

/** Starts the servers and processes of a cell, hurts them as planned, and judges what they did. */
export async function playCell(
  request: CellRequest,
  { folder, log }: { readonly folder: string; readonly log: EventLog },
  signal: AbortSignal,
): Promise<Played> {
  const { cell, seed, produceMs, short } = request
  await using cleanup = new AsyncDisposableStack()
  const database = await startDatabase(cell, folder)
  cleanup.defer(() => database.close())
  const broker = await startBroker(cell, database.outsideUrl)
  cleanup.defer(() => broker.close())
  const [gatewayPort] = (await freePorts(1)) as [number]
  const messages = Math.max(60, Math.round((produceMs / 1_000) * messagesPerSecond))
  const settings: ChaosSettings = {
    ...{ cell, seed, messages, produceMs, gatewayPort },
    mode: modeOf(seed),
    source: 'chaos.requests',
    output: 'chaos.applied',
    deadLetters: 'chaos.dead',
    inside: { databaseUrl: database.insideUrl, ...broker.inside },
    outside: { databaseUrl: database.outsideUrl, ...broker.outside },
    sendLog: join(folder, sendLogName),
    gatewayBook: join(folder, 'gateway-book.jsonl'),
  }
  const plan = planFaults(cell, { seed, produceMs, short }, request.available)
  writeFileSync(join(folder, 'plan.json'), JSON.stringify({ request, settings, plan }, null, 1))
  await prepareBusiness(settings, database.primary.disk?.tablespace ?? null)
  await broker.prepare(settings)
  const clock = request.clockLibrary === null ? null : fakeClock(request.clockLibrary, join(folder, 'clock'))
  const fleet = new Fleet(settings, { folder, log, clock })
  cleanup.defer(() => fleet.leave())
  return await actOnStage({ settings, folder, database, broker, fleet, log, signal }, plan)
}

/** The servers still run: what they wrote down is kept unless the verdict is clean. */
export async function actOnStage(stage: Stage, plan: FaultPlan, acting: typeof act = act): Promise<Played> {
  const { happened, evidence } = await acting(stage, plan).catch(async error => {
    await keepRemains(stage).catch(why => stage.log.add('evidence not kept', { error: String(why) }))
    throw error
  })
  const verdict = judge(evidence, new Set(Object.keys(happened)))
  const missed = plannedKinds(plan).filter(kind => !happened[kind])
  if (!isClean(verdict) || missed.length > 0) keepEvidence(stage, evidence)
  return { messages: evidence.confirmed.length, happened, missed, verdict }
}

const plannedKinds = (plan: FaultPlan) => [
  ...new Set(
    Object.values(plan)
      .flat()
      .map(({ kind }) => kind),
  ),
]
