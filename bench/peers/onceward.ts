import { ConsumerProcess, realEnvironment, type Source, type SourceDeclaration } from 'onceward'
import { createKafkaSource, topic } from 'onceward/kafka'
import {
  createPool,
  createPostgresSource,
  createPostgresStore,
  migrate,
  postgresQueue,
} from 'onceward/postgres'
import { createRabbitSource, queue as rabbitQueue } from 'onceward/rabbitmq'
import pg from 'pg'
import { defineIncrements, type Form } from '../contenders/onceward.ts'
import { fillPostgres, fillRabbitmq } from '../fill.ts'
import { bodiesOf } from '../workload.ts'
import { fillTopic } from './kafkajs.ts'
import type { Peer, PeerPlace } from './peer.ts'

type Reads = 'postgres' | 'rabbitmq' | 'kafka'
type Pool = ReturnType<typeof createPool>
type Opened = { readonly declaration: SourceDeclaration; readonly source: Source }

const open: Record<Reads, (place: PeerPlace, pool: Pool) => Opened> = {
  postgres({ queue }, pool) {
    const declaration = postgresQueue(queue)
    return { declaration: { ...declaration }, source: createPostgresSource(declaration, { pool }) }
  },
  rabbitmq({ queue, rabbitmqUrl }) {
    const declaration = rabbitQueue(queue)
    return { declaration, source: createRabbitSource(declaration, { url: rabbitmqUrl! }) }
  },
  kafka({ queue, kafkaBootstrap }) {
    const declaration = topic(queue, { group: queue, start: 'earliest' })
    return { declaration, source: createKafkaSource(declaration, { bootstrap: kafkaBootstrap! }) }
  },
}

const fill: Record<Reads, Peer['fill']> = {
  async postgres({ databaseUrl, queue }, load) {
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 })
    await fillPostgres(pool, queue, bodiesOf(load))
    await pool.end()
  },
  rabbitmq: ({ rabbitmqUrl, queue }, load) => fillRabbitmq(rabbitmqUrl!, queue, bodiesOf(load)),
  kafka: fillTopic,
}

const titles: Record<Reads, string> = { postgres: 'PostgreSQL', rabbitmq: 'RabbitMQ', kafka: 'Kafka' }

function onceward(reads: Reads, form: Form): Peer {
  return {
    name: `Onceward on ${titles[reads]}, ${form === 'batch' ? 'by batch' : 'per message'}`,
    reads,
    packageName: null,
    configuration:
      form === 'batch'
        ? 'defaults; handleBatch with one set-based update'
        : 'defaults; handle with one update',
    storesIds: true,
    handlesBatches: form === 'batch',
    async fill(place, load) {
      const pool = createPool(place.databaseUrl, { max: 1 })
      await migrate(pool)
      await pool.end()
      await fill[reads](place, load)
    },
    async work(place) {
      const pool = createPool(place.databaseUrl)
      const { declaration, source } = open[reads](place, pool)
      const consumer = defineIncrements({ form }, declaration)
      const store = createPostgresStore({ pool })
      const env = realEnvironment()
      await new ConsumerProcess({ consumer, source, store, env, instance: 'bench' }).start()
    },
  }
}

export const oncewards: readonly Peer[] = (['postgres', 'rabbitmq', 'kafka'] as const).flatMap(reads => [
  onceward(reads, 'message'),
  onceward(reads, 'batch'),
])
