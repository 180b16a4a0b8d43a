import { createPool } from '../../../packages/onceward/src/drivers/postgres/pool.ts'
import { createRelay } from '../../../packages/onceward/src/effects/publish/relay.ts'
import { openPublisher } from '../../../packages/onceward/src/runtime/open-publisher.ts'
import { realEnvironment } from '../../../packages/onceward/src/runtime/real-environment.ts'
import type { RelayBroker, RelayContender } from './relay-contender.ts'

/** As `onceward relay` runs it. The clock starts when it has its buckets. */
export function oncewardRelay(broker: RelayBroker): RelayContender {
  return {
    name: 'Onceward relay',
    broker,
    async open(place) {
      const pool = createPool(place.databaseUrl, { max: 5 })
      const publisher =
        broker === 'postgres' ? 'same database' : await openPublisher(broker, place, async () => {})
      const relay = createRelay({ pool, broker, publisher, env: realEnvironment() })
      await relay.start()
      while (relay.tally.buckets < 32) await new Promise(resolve => setTimeout(resolve, 5))
      return {
        carry: async count => {
          const begun = relay.tally.published
          relay.kick()
          while (relay.tally.published - begun < count) await new Promise(resolve => setTimeout(resolve, 2))
        },
        close: async () => {
          await relay.drain()
          if (publisher !== 'same database') await publisher.close()
          await pool.end()
        },
      }
    },
  }
}
