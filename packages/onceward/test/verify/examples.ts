import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { avroEncoder, confluentRegistry } from 'onceward/schema'
import { type VerifyOptions, verifyConsumer } from 'onceward/testing'
import { request } from '../../../../examples/01-payment-capture/produce.ts'
import { caseEvent } from '../../../../examples/02-case-projection/produce.ts'
import { sample as scans } from '../../../../examples/03-stream-replay/produce.ts'
import { life } from '../../../../examples/04-case-workflow/produce.ts'
import { answered } from '../../../../examples/06-sla-windows/produce.ts'
import { morning } from '../../../../examples/09-parking-drill/produce.ts'
import { firstReadingSchema, readingSchema } from '../../../../examples/11-avro-registry/messages.ts'
import { RegistryServer } from '../schema/registry-server.ts'
import { postgresUrl } from '../services/services.ts'

const examples = join(import.meta.dirname, '../../../../examples')

interface ExampleScene {
  readonly file: string
  /** The folder's tables.sql, unless it has none. */
  readonly tables?: string
  readonly rows?: string
  readonly samples: readonly unknown[]
  readonly environment?: Readonly<Record<string, string>>
  /** Starts what the example needs beside its database, before the samples are read. */
  readonly open?: () => Promise<OpenExample>
}

interface OpenExample {
  readonly samples: readonly unknown[]
  readonly environment: Readonly<Record<string, string>>
  /** Servers that its codec asks. */
  readonly allow: readonly string[]
  close(): Promise<void>
}

const shipped = (order: number) => ({
  messageId: `evt-${order}`,
  orderId: `o-${order}`,
  parcel: `p-${order}`,
  customer: { name: 'Ada Lovelace', email: `ada${order}@shop.example` },
})

const ordered = (orderId: string, version: number, state: string) => ({
  body: { eventId: `${orderId}/${version}`, orderId, version, state },
  properties: { messageId: `${orderId}/${version}` },
})

const statement = (number: number, accountId: string) => ({
  messageId: `st-${number}`,
  accountId,
  month: `2026-0${number}`,
  lines: [{ text: 'fee', amount: number }],
})

/** The examples with messages that show what they do. */
export const exampleScenes: Readonly<Record<string, ExampleScene>> = {
  '01': {
    file: '01-payment-capture/payment-capture.ts',
    tables: '01-payment-capture/tables.sql',
    rows: "insert into merchant values ('merchant-1')",
    samples: [1, 2, 3].map(n => JSON.parse(request(n))),
  },
  '02': {
    file: '02-case-projection/case-projection.ts',
    tables: '02-case-projection/tables.sql',
    samples: [caseEvent('a', 1), caseEvent('b', 1), caseEvent('a', 2), caseEvent('b', 2)],
  },
  '03': {
    file: '03-stream-replay/parcel-tracking.ts',
    tables: '03-stream-replay/tables.sql',
    samples: scans(2),
  },
  '04': {
    file: '04-case-workflow/case-workflow.ts',
    tables: '04-case-workflow/tables.sql',
    samples: life('case-1', 3),
  },
  '05': { file: '05-notifications/notifications.ts', samples: [1, 2, 3].map(shipped) },
  '06': {
    file: '06-sla-windows/sla-windows.ts',
    tables: '06-sla-windows/tables.sql',
    samples: [answered('e1', 1), answered('e2', 5, { breached: true }), answered('e3', 9)],
  },
  '07': {
    file: '07-outbox-to-kafka/order-board.ts',
    tables: '07-outbox-to-kafka/tables.sql',
    samples: [
      ordered('a', 1, 'placed'),
      ordered('b', 1, 'placed'),
      ordered('a', 2, 'paid'),
      ordered('a', 4, 'shipped'),
      ordered('b', 2, 'paid'),
    ],
  },
  '08': {
    file: '08-slow-work/statement-rendering.ts',
    tables: '08-slow-work/tables.sql',
    samples: [statement(1, 'a'), statement(2, 'b'), statement(3, 'a')],
    environment: { RENDER_MS: '20' },
  },
  '09': {
    file: '09-parking-drill/invoice-booking.ts',
    tables: '09-parking-drill/tables.sql',
    rows: "insert into account (id) values ('north'), ('east'), ('west')",
    samples: morning.filter(({ messageId }) => !messageId.endsWith('-3')),
  },
  '11': {
    file: '11-avro-registry/meter-readings.ts',
    tables: '11-avro-registry/tables.sql',
    samples: [],
    open: openReadings,
  },
}

/** Readings of both versions in Avro; the second one is high, so an alarm is published. */
async function openReadings(): Promise<OpenExample> {
  const server = await new RegistryServer().start()
  const registry = confluentRegistry({ url: server.url })
  const encoded = async (schema: object, reading: { id: string; meter: string; value: number }) => {
    const place = { broker: 'kafka', topic: 'readings', id: reading.id, type: undefined } as const
    const encoder = avroEncoder({ registry, schema, registration: 'register' })
    const { body } = await encoder.encode(reading, { ...place, key: reading.meter })
    return { base64: Buffer.from(body).toString('base64') }
  }
  const current = (id: string, value: number, unit: string) => ({ id, meter: 'a', value, unit })
  return {
    samples: [
      await encoded(firstReadingSchema, { id: 'r1', meter: 'a', value: 1 }),
      await encoded(readingSchema, current('r2', 0.5, 'MWh')),
      await encoded(readingSchema, current('r3', 2, 'kWh')),
    ],
    environment: { SCHEMA_REGISTRY_URL: server.url },
    allow: [new URL(server.url).host],
    close: () => server.stop(),
  }
}

export function exampleOptions({ file, tables, rows, samples, environment }: ExampleScene): VerifyOptions {
  Object.assign(process.env, environment)
  return {
    file: join(examples, file),
    samples,
    prepare: async pool => {
      if (tables !== undefined) await pool.query(readFileSync(join(examples, tables), 'utf8'))
      if (rows !== undefined) await pool.query(rows)
    },
  }
}

/** As many faults as fit, of every class. */
export function examplesSurvive(names: readonly string[]): void {
  for (const name of names)
    it(`example ${name} survives every class of faults`, async t => {
      const scene = exampleScenes[name]!
      const opened = await scene.open?.()
      t.after(() => opened?.close())
      const report = await verifyConsumer({
        ...exampleOptions({ ...scene, ...opened }),
        allow: opened?.allow,
        databaseUrl: await postgresUrl(),
        // Every class gets its first fault before any gets its second.
        budgetMs: 170_000,
      })
      assert.deepEqual(report.failures, [])
      assert.equal(report.survived, report.of)
    })
}
