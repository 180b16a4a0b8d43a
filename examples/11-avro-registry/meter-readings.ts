import { defineConsumer, type SqlTransaction } from 'onceward'
import { topic } from 'onceward/kafka'
import { avroCodec, avroEncoder, confluentRegistry } from 'onceward/schema'
import { alarmSchema, type Reading, readingSchema } from './messages.ts'
import { readSettings, type Settings } from './settings.ts'

const alarmAt = 100

/** Sums readings by meter, and publishes an alarm for a high one. Both by the schemas of a registry. */
export function meterReadings({ readings, alarms, group, registryUrl, schemaFolder }: Settings) {
  const registry = confluentRegistry({ url: registryUrl })
  const kept = schemaFolder === undefined ? {} : { cacheFolder: schemaFolder }
  const encoder = avroEncoder({ registry, schema: alarmSchema, registration: 'register', ...kept })
  return defineConsumer<Reading, SqlTransaction, never, 'alarms'>({
    name: 'meter_readings',
    owner: 'energy',
    risk: 'projection',
    source: topic(readings, { group, start: 'earliest' }),
    message: { codec: avroCodec({ registry, reader: readingSchema, ...kept }) },
    identity: { id: m => m.id, aggregateId: m => m.meter },
    effect: { publish: { alarms: { broker: 'kafka', topic: alarms, encoder } } },
    failure: { breaker: { pauseMs: 200, pauseMaxMs: 5_000 } },
    retention: {},
    async handle({ message: { meter, value, unit }, tx, effects }) {
      const kwh = unit === 'MWh' ? value * 1_000 : value
      await tx.query(
        `insert into meter as known values ($1, $2, 1)
         on conflict (meter) do update set kwh = known.kwh + excluded.kwh, readings = known.readings + 1`,
        [meter, kwh],
      )
      if (kwh > alarmAt) effects.publish('alarms', { key: meter, body: { meter, value: kwh } })
    },
  })
}

export default meterReadings(readSettings())
