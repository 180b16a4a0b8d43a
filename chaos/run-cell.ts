import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts } from '../packages/onceward/test/services/free-ports.ts'
import { act } from './act.ts'
import { type Cell, cellName } from './cell.ts'
import { EventLog } from './event-log.ts'
import type { Happened } from './faults/run-plan.ts'
import type { Stage } from './faults/stage.ts'
import { keepEvidence } from './keep-evidence.ts'
import { isClean, judge, type Verdict } from './oracle/judge.ts'
import { type Available, type FaultPlan, planFaults } from './plan/faults.ts'
import { prepareBusiness } from './prepare-business.ts'
import { fakeClock } from './processes/fake-clock.ts'
import { Fleet } from './processes/fleet.ts'
import { type ChaosSettings, workModes } from './processes/settings.ts'
import { startBroker } from './servers/broker.ts'
import { startDatabase } from './servers/database.ts'

export interface CellRequest {
  readonly cell: Cell
  readonly seed: number
  readonly produceMs: number
  readonly short: boolean
  readonly keep: boolean
  readonly available: Available
  /** The library of the clock that jumps; null without one. */
  readonly clockLibrary: string | null
  readonly say: (line: string) => void
}

export interface CellResult {
  readonly cell: string
  readonly seed: number
  readonly mode: string
  readonly seconds: number
  readonly messages: number
  readonly happened: Happened
  /** Planned, and never staged. */
  readonly missed: readonly string[]
  readonly verdict: Verdict
  readonly ok: boolean
  readonly folder: string | null
}

const messagesPerSecond = 30

/** One cell from its servers to its verdict. Everything it started has ended when it resolves. */
export async function runCell(request: CellRequest, signal: AbortSignal): Promise<CellResult> {
  const { cell, seed, produceMs, short } = request
  const began = performance.now()
  const folder = mkdtempSync(join(tmpdir(), `onceward-chaos-${cell.source}-${cell.database}-`))
  const log = new EventLog(join(folder, 'events.jsonl'), ({ what, at: _, ...facts }) => {
    if (what !== 'command') request.say(`${cellName(cell)} ${what} ${JSON.stringify(facts).slice(0, 200)}`)
  })
  await using cleanup = new AsyncDisposableStack()
  const database = await startDatabase(cell, folder)
  cleanup.defer(() => database.close())
  const broker = await startBroker(cell, database.outsideUrl)
  cleanup.defer(() => broker.close())
  const [gatewayPort] = (await freePorts(1)) as [number]
  const messages = Math.max(60, Math.round((produceMs / 1_000) * messagesPerSecond))
  const settings: ChaosSettings = {
    ...{ cell, seed, messages, produceMs, gatewayPort },
    mode: workModes[seed % workModes.length]!,
    source: 'chaos.requests',
    output: 'chaos.applied',
    deadLetters: 'chaos.dead',
    inside: { databaseUrl: database.insideUrl, ...broker.inside },
    outside: { databaseUrl: database.outsideUrl, ...broker.outside },
    sendLog: join(folder, 'sent.jsonl'),
    gatewayBook: join(folder, 'gateway-book.jsonl'),
  }
  const plan = planFaults(cell, { seed, produceMs, short }, request.available)
  writeFileSync(join(folder, 'plan.json'), JSON.stringify({ request, settings, plan }, null, 1))
  await prepareBusiness(settings, database.primary.disk?.tablespace ?? null)
  await broker.prepare(settings)
  const clock = request.clockLibrary === null ? null : fakeClock(request.clockLibrary, join(folder, 'clock'))
  const fleet = new Fleet(settings, { folder, log, clock })
  cleanup.defer(() => fleet.leave())
  const stage: Stage = { settings, folder, database, broker, fleet, log, signal }
  const { happened, evidence } = await act(stage, plan).catch(error => {
    request.say(`${cellName(cell)} broke off; its plan, events and logs are in ${folder}`)
    throw error
  })
  const verdict = judge(evidence, new Set(Object.keys(happened)))
  const missed = plannedKinds(plan).filter(kind => !happened[kind])
  const ok = isClean(verdict) && missed.length === 0
  writeFileSync(join(folder, 'verdict.json'), JSON.stringify({ verdict, missed, happened }, null, 1))
  if (!ok) keepEvidence(stage, evidence)
  if (ok && !request.keep) rmSync(folder, { recursive: true, force: true })
  return {
    cell: cellName(cell),
    ...{ seed, mode: settings.mode, messages: evidence.confirmed.length, happened, missed, verdict, ok },
    seconds: Math.round((performance.now() - began) / 1_000),
    folder: ok && !request.keep ? null : folder,
  }
}

const plannedKinds = (plan: FaultPlan) => [
  ...new Set(
    Object.values(plan)
      .flat()
      .map(({ kind }) => kind),
  ),
]
