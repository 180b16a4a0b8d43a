import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPool, migrate } from 'onceward/postgres'
import { type CrashPoint, until } from 'onceward/testing'
import { createDatabase } from '../services/services.ts'
import { type BrokerKind, createBroker, urlsFor } from './brokers.ts'
import type { WorkerOrders } from './child.ts'
import { startGateway } from './gateway.ts'
import { assertInvariants, isDrained } from './invariants.ts'
import { assertNothingSkipped } from './positions.ts'
import { crashScenarios } from './scenarios.ts'
import { spawnWorker } from './worker.ts'
import { type Memory, tables, workMessages } from './workload.ts'

/** Kills a real process at the point, starts another, and checks every invariant from outside. */
export async function runScenario(
  point: CrashPoint,
  kind: BrokerKind,
  hit: number,
  memory: Memory = 'after effect',
): Promise<void> {
  const scenario = crashScenarios[point]
  await using cleanup = new AsyncDisposableStack()
  const database = await createDatabase()
  cleanup.defer(() => database.drop())
  const folder = mkdtempSync(join(tmpdir(), 'onceward-crash-'))
  cleanup.defer(() => rmSync(folder, { recursive: true, force: true }))
  const pool = createPool(database.url, { max: 2 })
  cleanup.defer(() => pool.end())
  const witness = join(folder, 'witness')
  const armed = { dieAt: { point, hit, witness } }
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
  if (scenario.task === 'consume') await dieIn({ ...orders, ...armed }, witness)
  if (scenario.task === 'drain') await dieIn({ ...orders, ...armed }, witness, 'SIGTERM')

  const nothingSkipped = async () => {
    if (broker.log !== null) await assertNothingSkipped(pool, broker.log)
  }
  await nothingSkipped()
  do {
    const worker = spawnWorker(orders)
    cleanup.defer(() => void worker.process.kill('SIGKILL'))
    await worker.running
    await until(`everything is decided after a crash at ${point} on ${kind}`, async () => {
      await nothingSkipped()
      return isDrained(pool, memory)
    })
    // Where the store keeps the position the broker hears of it now and then, and when the worker leaves.
    if (memory !== 'with effect' && memory !== 'checkpoint')
      await until('the broker has nothing waiting', async () => (await broker.depth()) === 0)
    worker.process.kill('SIGTERM')
    const end = await worker.ended
    assert.equal(end.code, 0, `the worker drains and leaves: ${end.stderr}`)
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
