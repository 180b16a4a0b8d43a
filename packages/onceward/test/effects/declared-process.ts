import { defineConsumer, realEnvironment, runConsumer } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import { type CrashPoint, dieAt } from 'onceward/testing'
import { contractOf, type EffectName, effects } from './declared-contracts.ts'

/** Settings that a test passes through the environment. */
export interface Orders {
  readonly name: string
  readonly effect: EffectName
  readonly databaseUrl: string
  /** Kills itself with SIGKILL when it gets here. */
  readonly dieAt?: CrashPoint
}

const { name, effect, databaseUrl, dieAt: point } = JSON.parse(process.env.DECLARED_ORDERS!) as Orders
process.on('disconnect', () => process.exit(0))
const contract = contractOf(effects[effect](), postgresQueue(name, { leaseMs: 2_000 }), name, {
  batch: { sizeMax: 4 },
})
const log = { debug() {}, info() {}, warn() {}, error() {} }
const running = await runConsumer(defineConsumer(contract), {
  databaseUrl,
  env: realEnvironment({ log, ...(point && { reach: dieAt(point) }) }),
})
process.send?.('running')
await running.finished
