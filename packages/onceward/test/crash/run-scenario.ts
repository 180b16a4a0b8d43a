import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPool, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { errorText } from '../../src/errors.ts'
import { createDatabase, createEmptyDatabase } from '../services/services.ts'
import { type BrokerKind, createBroker, urlsFor } from './brokers.ts'
import { consume } from './consume.ts'
import { startGateway } from './gateway.ts'
import { assertInvariants, isDrained } from './invariants.ts'
import type { WorkerOrders } from './orders.ts'
import { assertNothingSkipped } from './positions.ts'
import { type ConsumerPoint, crashScenarios } from './scenarios.ts'
import { spawnWorker } from './worker.ts'
import { type Memory, tables, workMessages } from './workload.ts'

/** It reads every record that is decided, and would be half of what the suite asks the server. */
const skippedEvery = 4

/** Kills a real process at the point, starts another, and checks every invariant from outside. */
export async function runScenario(
  point: ConsumerPoint,
  kind: BrokerKind,
  hit: number,
  memory: Memory = 'after effect',
): Promise<void> {
  const scenario = crashScenarios[point]
  await using cleanup = new AsyncDisposableStack()
  const database = await (scenario.task === 'migrate' ? createEmptyDatabase() : createDatabase())
  cleanup.defer(() => database.drop())
  const folder = mkdtempSync(join(tmpdir(), 'onceward-crash-'))
  cleanup.defer(() => rmSync(folder, { recursive: true, force: true }))
  const pool = createPool(database.url, { max: 2 })
  cleanup.defer(() => pool.end())
  const witness = join(folder, 'witness')
  const armed = { dieAt: { point, hit, witness, ...(scenario.before && { before: scenario.before }) } }
  const basic = {
    databaseUrl: database.url,
    deadLetter: null,
    declaration: { kind: '' },
    gatewayUrl: '',
  }

  if (scenario.task === 'migrate') await dieIn({ ...basic, task: 'migrate', ...armed }, witness)
  await migrate(pool)
  await pool.query(tables)
  const urls = await urlsFor(kind, database.url)
  const broker = await createBroker(kind, urls)
  cleanup.defer(() => broker.close())
  const gateway = await startGateway()
  cleanup.defer(() => gateway.close())
  const orders: WorkerOrders = {
    ...basic,
    task: 'consume',
    urls,
    memory,
    gatewayUrl: gateway.url,
    declaration: broker.declaration,
    deadLetter: broker.deadLetter,
    ledgerLeaseMs: 3_000,
    relayLeaseMs: 3_000,
    target: broker.target,
  }
  await broker.publish(workMessages(memory))
  for (const [n, earlier] of (scenario.after ?? []).entries()) {
    const seen = join(folder, `earlier-${n}`)
    await dieIn({ ...orders, dieAt: { point: earlier, hit: 1, witness: seen } }, seen)
  }
  if (scenario.task === 'consume')
    do await dieIn({ ...orders, ...armed }, witness)
    while (!readFileSync(witness, 'utf8').includes(`died at ${point}`))
  if (scenario.task === 'drain') await dieIn({ ...orders, ...armed }, witness, 'SIGTERM')

  const nothingSkipped = async () => {
    if (broker.log !== null) await assertNothingSkipped(pool, broker.log)
  }
  await nothingSkipped()
  const complaints: string[] = []
  do {
    // In this process: it is none of those that died, and one more that only lives for this would cost half
    // of the suite's time.
    const worker = await consume(
      orders,
      () => {},
      complaint => complaints.push(complaint),
    )
    try {
      let looks = 0
      await until(`everything is decided after a crash at ${point} on ${kind}`, async () => {
        if (looks++ % skippedEvery === 0) await nothingSkipped()
        return isDrained(pool, memory)
      })
      // Where the store keeps the position the broker hears of it now and then, and when the worker leaves.
      if (memory !== 'with effect' && memory !== 'checkpoint')
        await until('the broker has nothing waiting', async () => (await broker.depth()) === 0)
      await worker.drain(20_000)
      await worker.finished
    } catch (error) {
      worker.leave()
      throw new Error(`the next worker: ${errorText(error)}\n${complaints.slice(-20).join('\n')}`, {
        cause: error,
      })
    }
    // Copies it had fetched but not begun go back when it leaves: another takes them.
  } while ((await broker.depth()) > 0)
  await assertInvariants(pool, broker, gateway, memory)
}

async function dieIn(orders: WorkerOrders, witness: string, signal?: NodeJS.Signals): Promise<void> {
  const worker = spawnWorker(orders)
  if (signal !== undefined) {
    await worker.running
    worker.process.kill(signal)
  }
  const giveUp = setTimeout(() => worker.process.kill('SIGTERM'), 60_000)
  const end = await worker.ended
  clearTimeout(giveUp)
  assert.equal(
    end.signal,
    'SIGKILL',
    `the worker was to die at ${orders.dieAt!.point}, but ended ${JSON.stringify(end)}`,
  )
  assert.ok(existsSync(witness), `${orders.dieAt!.point} was never reached`)
}
