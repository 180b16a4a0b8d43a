import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createQueue, publish } from 'onceward/postgres'
import type { SqlPool } from '../../src/drivers/postgres/pool.ts'
import { openKafka } from '../kafka/fixture.ts'
import { createTestQueue } from '../rabbitmq/broker.ts'
import { createTestStream } from '../rabbitmq-stream/broker.ts'
import type { Fact } from './contract-of.ts'
import type { Combination } from './dimensions.ts'

export interface Broker {
  /** Name of the queue, stream or topic; path of the file. */
  readonly place: string
  /** Needs a consumer that has been started, which makes the queue of RabbitMQ. */
  publish(facts: readonly Fact[]): Promise<void>
}

const bodyOf = (fact: Fact) => JSON.stringify(fact)

export const linesOf = (facts: readonly Fact[]) => facts.map(fact => `${bodyOf(fact)}\n`).join('')

export async function openBroker(
  t: TestContext,
  source: Combination['source'],
  { name, pool }: { name: string; pool: SqlPool },
): Promise<Broker> {
  switch (source) {
    case 'rabbitmq': {
      const queue = await createTestQueue(t)
      return { place: queue.name, publish: facts => queue.send(...facts.map(bodyOf)) }
    }
    case 'rabbitmq-stream': {
      const stream = await createTestStream(t)
      return { place: stream.name, publish: facts => stream.send(...facts.map(bodyOf)) }
    }
    case 'kafka': {
      const kafka = await openKafka(t)
      const topic = await kafka.createTopic({ partitions: 2 })
      for (const delayMs of [1, 2]) await kafka.createTopic({ name: `${topic}.retry.${delayMs}` })
      const records = (facts: readonly Fact[]) =>
        facts.map(fact => ({ value: bodyOf(fact), key: fact.key, partition: partitionOf(fact) }))
      return { place: topic, publish: async facts => void (await kafka.produce(topic, records(facts))) }
    }
    case 'postgres': {
      await createQueue(pool, name)
      const messages = (facts: readonly Fact[]) => facts.map(fact => ({ body: bodyOf(fact), key: fact.key }))
      return { place: name, publish: facts => publish(pool, name, messages(facts)) }
    }
    case 'file': {
      const folder = await mkdtemp(join(tmpdir(), 'onceward-matrix-'))
      t.after(() => rm(folder, { recursive: true }))
      const place = join(folder, 'facts.jsonl')
      await writeFile(place, '')
      return { place, publish: facts => appendFile(place, linesOf(facts)) }
    }
  }
}

const partitionOf = ({ key }: Fact) => key.charCodeAt(key.length - 1) % 2
