import { defineConsumer, runConsumer, type SqlTransaction } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import { changesOf, incrementCounters } from '../contenders/apply-batch.ts'
import { type OpenContender, startClock } from '../contenders/contender.ts'
import type { Increment } from '../workload.ts'

/**
 * The same job on the same queue in both modes, with the defaults a user gets. Stored mode is timed from the
 * first delivery to the last effect: store, settle, claim and apply, all of it.
 */
function openMode(mode: 'transactional' | 'stored'): OpenContender {
  return async place =>
    async ({ queue, load }) => {
      const consumer = defineConsumer<Increment, SqlTransaction>({
        name: `increments_${mode}`,
        owner: 'bench',
        risk: 'projection',
        source: postgresQueue(queue),
        identity: { id: message => message.id },
        inbox: { mode },
        async handleBatch({ batch, tx }) {
          await tx.query(incrementCounters, changesOf(batch.map(item => item.message)))
        },
      })
      const running = await runConsumer(consumer, { databaseUrl: place.databaseUrl })
      const seconds = startClock()
      const applying = mode === 'stored' ? running.worker! : running.consumer!
      while ((applying.tally.outcomes.applied ?? 0) < load.count) {
        if (applying.state === 'halted') await applying.finished
        await new Promise(resolve => setTimeout(resolve, 1))
      }
      const took = seconds()
      await running.drain()
      return took
    }
}

export const openStored: OpenContender = openMode('stored')
export const openTransactional: OpenContender = openMode('transactional')
