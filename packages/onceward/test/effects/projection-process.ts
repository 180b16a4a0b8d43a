import { realEnvironment, runConsumer } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import { dieAt } from 'onceward/testing'
import { type CaseOptions, ProjectionScene } from './projection-scene.ts'

export interface ProcessOrders {
  readonly url: string
  readonly name: string
  readonly dedup: 'marker' | 'version'
  readonly waits: boolean
  /** By key; without it a batch may overtake another, and what it overtook is stale. */
  readonly ordered: boolean
  readonly killAt?: Parameters<typeof dieAt>[0]
  readonly hit?: number
}

/**
 * Every move of a version leaves a row in `moves`, which nothing makes unique: twice is to be seen as twice.
 */
export function movingOptions(waits: boolean): CaseOptions {
  return {
    table: 'case_view',
    key: { case_id: 'caseId' },
    version: { version: 'version' },
    gap: waits
      ? {
          policy: 'wait',
          deadlineMs: 600_000,
          atDeadline: 'park',
          keyMax: 100,
          totalMax: 1_000,
          whenFull: 'park',
        }
      : 'accept latest',
    async handle({ key, facts, tx }) {
      for (const { version } of facts)
        await tx.query('insert into moves (case_id, version) values ($1, $2)', [key.case_id, version])
    },
  }
}

if (process.env.PROJECTION_ORDERS !== undefined) {
  const orders = JSON.parse(process.env.PROJECTION_ORDERS) as ProcessOrders
  const consumer = ProjectionScene.prototype.contract(orders.name, movingOptions(orders.waits), {
    source: postgresQueue(orders.name, { leaseMs: 1_000, keyOrder: orders.ordered }),
    order: orders.ordered ? 'key' : 'none',
    dedup: orders.dedup,
    inbox: { leaseMs: 1_000 },
    batch: { sizeMax: 20 },
  })
  const { killAt, hit = 1 } = orders
  const running = await runConsumer(consumer, {
    databaseUrl: orders.url,
    env: realEnvironment(killAt === undefined ? {} : { reach: dieAt(killAt, { hit }) }),
  })
  process.on('SIGTERM', () => void running.drain())
  process.send?.('running')
  await running.finished
  process.disconnect?.()
}
