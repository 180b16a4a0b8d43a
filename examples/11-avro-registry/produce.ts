import { parseArgs } from 'node:util'
import { createKafkaPublisher, ensureTopic } from 'onceward/kafka'
import { avroEncoder, confluentRegistry } from 'onceward/schema'
import { firstReadingSchema, readingSchema } from './messages.ts'
import { readSettings } from './settings.ts'

const { values } = parseArgs({ options: { readings: { type: 'string', default: '100' } } })
const bootstrap = process.env.ONCEWARD_KAFKA_BOOTSTRAP!
const { readings, alarms, registryUrl } = readSettings()
for (const name of [readings, alarms]) await ensureTopic({ bootstrap }, name, { partitions: 3 })

const registry = confluentRegistry({ url: registryUrl })
const [old, current] = [firstReadingSchema, readingSchema].map(schema =>
  avroEncoder({ registry, schema, registration: 'register' }),
)
const publisher = createKafkaPublisher({ bootstrap })
for (let n = 0; n < Number(values.readings); n++) {
  const meter = `meter-${n % 7}`
  const reading = { id: `reading-${n}`, meter, value: n % 50 === 0 ? 0.5 : 2 }
  const place = { broker: 'kafka', topic: readings, id: reading.id, type: undefined, key: meter } as const
  const { body } = await (n % 2 === 0
    ? current!.encode({ ...reading, unit: n % 50 === 0 ? 'MWh' : 'kWh' }, place)
    : old!.encode(reading, place))
  await publisher.publish([{ queue: readings, messageId: reading.id, key: meter, body: Buffer.from(body) }])
}
await publisher.close()
console.log(`${values.readings} readings in ${readings}`)
