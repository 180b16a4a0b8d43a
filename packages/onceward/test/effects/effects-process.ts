import { writeSync } from 'node:fs'
import { createPool } from '../../src/drivers/postgres/pool.ts'
import { createDispatcher } from '../../src/effects/external/dispatcher.ts'
import { createRelay } from '../../src/effects/publish/relay.ts'
import type { Publisher } from '../../src/ports/publisher.ts'
import { realEnvironment } from '../../src/runtime/real-environment.ts'
import { bookPublisher } from './outbox-scene.ts'

const { url, part, killAt, freezeAt, kafka, ...options } = JSON.parse(process.argv[2]!)
const pool = createPool(url)

/** Once: notifies the parent and stops until it is resumed. */
const freeze = (here: string) => {
  if (here !== freezeAt || frozen) return
  frozen = true
  writeSync(1, 'frozen\n')
  process.kill(process.pid, 'SIGSTOP')
}
let frozen = false
const env = realEnvironment({
  reach: point => {
    if (point === killAt) process.kill(process.pid, 'SIGKILL')
    freeze(point)
  },
})
const book: Publisher = bookPublisher(pool, options.instance)
const { createKafkaPublisher } = await import('../../src/drivers/kafka/kafka-publisher.ts')
const broker = kafka === undefined ? book : createKafkaPublisher({ bootstrap: kafka })
const publisher = {
  ...broker,
  publish: (...given: Parameters<typeof book.publish>) => {
    freeze('publish')
    return broker.publish(...given)
  },
}
const running =
  part === 'relay'
    ? createRelay({ pool, env, publisher, ...options })
    : createDispatcher({ pool, env, instance: 'child', ...options })

process.on('SIGTERM', async () => {
  await running.drain()
  process.stdout.write(JSON.stringify(running.tally))
  await pool.end()
})
await running.start()
