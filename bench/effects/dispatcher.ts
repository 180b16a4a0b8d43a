import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { defineConsumer, runConsumer, type SqlTransaction } from 'onceward'
import { createPool, postgresQueue } from 'onceward/postgres'
import { changesOf, incrementCounters } from '../contenders/apply-batch.ts'
import { type OpenContender, startClock } from '../contenders/contender.ts'
import type { Increment } from '../workload.ts'

const inFlight = 200

/**
 * The job's messages become intents, untimed; then a dispatcher with 200 calls in flight makes them against a
 * gateway that answers at once. Timed from the start of the dispatcher to the last recorded answer.
 */
export const openDispatcher: OpenContender = async place => {
  const gateway = await startGateway()
  const pool = createPool(place.databaseUrl, { max: 1 })
  return async ({ queue, load }) => {
    await pool.query('truncate onceward.ledger')
    const consumer = defineConsumer<Increment, SqlTransaction, 'gateway'>({
      name: 'increments_dispatched',
      owner: 'bench',
      risk: 'money',
      source: postgresQueue(queue),
      identity: { id: message => message.id },
      effect: { external: { gateway: { url: gateway.url, allowPrivate: true, concurrencyMax: inFlight } } },
      async handleBatch({ batch, tx }) {
        await tx.query(incrementCounters, changesOf(batch.map(item => item.message)))
        for (const { message, effects } of batch)
          effects.external('gateway', { key: message.id, body: message })
      },
    })
    const filling = await runConsumer(consumer, { databaseUrl: place.databaseUrl, parts: ['consumer'] })
    while ((filling.consumer!.tally.outcomes.applied ?? 0) < load.count) await sleep(5)
    await filling.drain()
    await pool.query('vacuum analyze onceward.ledger')
    const seconds = startClock()
    const calling = await runConsumer(consumer, { databaseUrl: place.databaseUrl, parts: ['dispatcher'] })
    while (await isOpen(pool)) await sleep(5)
    const took = seconds()
    await calling.drain()
    return took
  }
}

async function isOpen(pool: ReturnType<typeof createPool>): Promise<boolean> {
  const { rows } = await pool.query(
    `select exists (select from onceward.ledger where consumer_name = 'increments_dispatched' and target = 'gateway' and state <> 'completed') as open`,
  )
  return rows[0].open
}

async function startGateway(): Promise<{ readonly process: ChildProcess; readonly url: string }> {
  const child = fork(fileURLToPath(new URL('./instant-gateway.ts', import.meta.url)))
  child.unref()
  const [port] = await once(child, 'message')
  child.channel?.unref()
  process.once('exit', () => child.kill())
  return { process: child, url: `http://127.0.0.1:${port}/charges` }
}
