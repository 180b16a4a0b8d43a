import { Producer, stringSerializers } from '@platformatic/kafka'
import { connect } from 'amqplib'
import pg from 'pg'
import type { RelayContender, RelayPlace } from './relay-contender.ts'

const batchMax = 500

interface Row {
  readonly id: string
  readonly queue: string
  readonly message_id: string
  readonly key: string
  readonly body: Buffer
}

interface HandPublisher {
  /** Resolves when the broker has confirmed all of them. */
  publish(rows: readonly Row[]): Promise<void>
  close(): Promise<void>
}

/**
 * What one writes first: lock a batch in order of ids, publish it, wait for the confirms, delete it, commit.
 */
function handRelay(
  broker: 'kafka' | 'rabbitmq',
  connected: (place: RelayPlace) => Promise<HandPublisher>,
): RelayContender {
  return {
    name: 'hand-written batch relay',
    broker,
    async open(place) {
      const client = new pg.Client({ connectionString: place.databaseUrl })
      await client.connect()
      const publisher = await connected(place)
      const batch = async () => {
        await client.query('begin')
        const { rows } = await client.query<Row>(
          `select id, queue, message_id, key, headers::text, body from bench_outbox
           order by id limit ${batchMax} for update skip locked`,
        )
        if (rows.length > 0) {
          await publisher.publish(rows)
          await client.query('delete from bench_outbox where id = any ($1::bigint[])', [
            rows.map(({ id }) => id),
          ])
        }
        await client.query('commit')
        return rows.length
      }
      return {
        carry: async count => {
          for (let carried = 0; carried < count; ) carried += await batch()
        },
        close: async () => {
          await client.end()
          await publisher.close()
        },
      }
    },
  }
}

export const handToRabbit = handRelay('rabbitmq', async ({ rabbitmqUrl }) => {
  const connection = await connect(rabbitmqUrl)
  const channel = await connection.createConfirmChannel()
  return {
    publish: async rows => {
      for (const { queue, message_id: messageId, body } of rows)
        channel.sendToQueue(queue, body, { messageId, persistent: true, mandatory: true })
      await channel.waitForConfirms()
    },
    close: () => connection.close(),
  }
})

export const handToKafka = handRelay('kafka', async ({ kafkaBootstrap }) => {
  const producer = new Producer<string, Buffer, string, string>({
    clientId: 'onceward-bench-relay',
    bootstrapBrokers: kafkaBootstrap.split(','),
    idempotent: true,
    serializers: { ...stringSerializers, value: value => value! },
  })
  return {
    publish: async rows => {
      await producer.send({
        acks: -1,
        messages: rows.map(({ queue, key, message_id, body }) => ({
          topic: queue,
          key,
          value: body,
          headers: new Map([['message-id', message_id]]),
        })),
      })
    },
    close: () => producer.close(),
  }
})

export const handToPostgres: RelayContender = {
  name: 'hand-written batch relay',
  broker: 'postgres',
  async open({ databaseUrl }) {
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    const move = `
      with picked as (select id from bench_outbox order by id limit ${batchMax} for update skip locked),
        gone as (delete from bench_outbox using picked where bench_outbox.id = picked.id returning bench_outbox.*)
      insert into onceward.queue_message (queue_id, message_id, key, headers, body)
      select queue.id, message_id, key, headers, body from gone join onceward.queue on queue.name = gone.queue order by gone.id`
    return {
      carry: async count => {
        for (let carried = 0; carried < count; ) carried += (await client.query(move)).rowCount!
      },
      close: () => client.end(),
    }
  },
}
