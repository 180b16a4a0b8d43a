import { randomBytes } from 'node:crypto'
import type { PublishTarget, SourceDeclaration } from 'onceward'
import { kafkaBootstrap, rabbitmqStreamUrl, rabbitmqUrl } from '../services/services.ts'
import { fileBroker } from './brokers/file.ts'
import { kafkaBroker } from './brokers/kafka.ts'
import { postgresBroker } from './brokers/postgres.ts'
import { rabbitBroker } from './brokers/rabbitmq.ts'
import { streamBroker } from './brokers/stream.ts'
import type { Produced } from './workload.ts'

export type BrokerKind = 'postgres' | 'rabbitmq' | 'kafka' | 'rabbitmq-stream' | 'file'

export const brokerKinds: readonly BrokerKind[] = ['postgres', 'rabbitmq', 'kafka', 'rabbitmq-stream', 'file']
export const logs: readonly BrokerKind[] = ['kafka', 'rabbitmq-stream', 'file']

/** The servers a broker of this kind needs beside PostgreSQL. */
export const serviceOf = {
  postgres: 'postgres',
  rabbitmq: 'rabbitmq',
  kafka: 'kafka',
  'rabbitmq-stream': 'rabbitmq',
  file: 'postgres',
} as const satisfies Record<BrokerKind, string>

/** A queue or log on a real broker, seen from outside the engine. */
export interface TestBroker {
  readonly declaration: SourceDeclaration
  /** Null where there is nowhere to send them to. */
  readonly deadLetter: string | null
  /** Where the consumer publishes what it did. */
  readonly target: PublishTarget
  /** Message ids that arrived at the target, repeats included; asked once. */
  published(): Promise<string[]>
  publish(messages: readonly Produced[]): Promise<void>
  /** Messages not settled; meaningful once no consumer is connected. */
  depth(): Promise<number>
  /** Message ids of the copies in the dead-letter queue. */
  deadLetters(): Promise<string[]>
  /** Null on queues, which have no positions. */
  readonly log: TestLog | null
  close(): Promise<void>
}

/** What a log is beside: records that stay where they are, and a position that others see. */
export interface TestLog {
  /** Everything published, with its place. */
  readonly records: readonly LoggedRecord[]
  /** How far the broker was told by partition: where the next reader would begin. */
  told(): Promise<ReadonlyMap<string, number>>
}

export interface LoggedRecord {
  readonly partition: string
  readonly offset: number
  readonly produced: Produced
}

/** Addresses as a worker needs them; '' where the kind does without. */
export interface BrokerUrls {
  readonly postgres: string
  readonly rabbitmq: string
  readonly stream: string
  readonly kafka: string
}

export async function urlsFor(kind: BrokerKind, postgres: string): Promise<BrokerUrls> {
  const needs = serviceOf[kind]
  return {
    postgres,
    rabbitmq: needs === 'rabbitmq' ? await rabbitmqUrl() : '',
    stream: kind === 'rabbitmq-stream' ? (await rabbitmqStreamUrl())! : '',
    kafka: needs === 'kafka' ? await kafkaBootstrap() : '',
  }
}

export async function createBroker(kind: BrokerKind, urls: BrokerUrls): Promise<TestBroker> {
  const name = `crash.${randomBytes(6).toString('hex')}`
  switch (kind) {
    case 'postgres':
      return postgresBroker(name, urls.postgres)
    case 'rabbitmq':
      return rabbitBroker(name, urls.rabbitmq)
    case 'rabbitmq-stream':
      return streamBroker(name, urls)
    case 'kafka':
      return kafkaBroker(name)
    case 'file':
      return fileBroker(urls.postgres)
  }
}
