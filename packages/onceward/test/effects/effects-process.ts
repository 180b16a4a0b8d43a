import { createDispatcher } from '../../src/effects/external/dispatcher.ts'
import { createPostgresPublisher } from '../../src/effects/publish/postgres-publisher.ts'
import { createRelay } from '../../src/effects/publish/relay.ts'
import { realSurroundings } from '../../src/runtime/real-surroundings.ts'
import { createPool } from '../../src/stores/postgres/pool.ts'

const { url, part, killAt, ...options } = JSON.parse(process.argv[2]!)
const pool = createPool(url)
const world = realSurroundings({
  reach: point => {
    if (point === killAt) process.kill(process.pid, 'SIGKILL')
  },
})
const running =
  part === 'relay'
    ? createRelay({ pool, world, broker: 'postgres', publisher: createPostgresPublisher(pool), ...options })
    : createDispatcher({ pool, world, instance: 'child', ...options })

process.on('SIGTERM', async () => {
  await running.drain()
  process.stdout.write(JSON.stringify(running.tally))
  await pool.end()
})
await running.start()
