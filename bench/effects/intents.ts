import { defineConsumer, runConsumer, type SqlTransaction } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import { type OpenContender, startClock } from '../contenders/contender.ts'
import { applied } from '../contenders/onceward.ts'
import type { Increment } from '../workload.ts'

/** A marker and an intent per message, and nothing else; no calls are made. */
export const openIntents: OpenContender = async place => {
  return async ({ queue, load }) => {
    const consumer = defineConsumer<Increment, SqlTransaction, 'gateway'>({
      name: 'increments_dispatched',
      owner: 'bench',
      risk: 'money',
      source: postgresQueue(queue),
      identity: { id: message => message.id },
      effect: { external: { gateway: { url: 'http://127.0.0.1:9/', allowPrivate: true } } },
      async handleBatch({ batch }) {
        for (const { message, effects } of batch)
          effects.external('gateway', { key: message.id, body: message })
      },
    })
    const running = await runConsumer(consumer, { databaseUrl: place.databaseUrl, parts: ['consumer'] })
    const seconds = startClock()
    await applied(running.consumer!, load.count)
    const took = seconds()
    await running.drain()
    return took
  }
}
