import type { Cell } from '../cell.ts'
import { databaseBroker } from './database-broker.ts'
import { startKafka } from './kafka.ts'
import type { Link } from './link.ts'
import { startRabbitmq } from './rabbitmq.ts'

/** The names of one run on its broker. */
export interface Names {
  readonly source: string
  readonly output: string
  readonly deadLetters: string
}

/** A message that the consumer published or sent to its dead letters, as a reader outside finds it. */
export interface Copy {
  /** The id of the copy: repeats of one publication share it. */
  readonly id: string
  /** The id in its body; null where the body cannot be read. */
  readonly of: string | null
}

export function idIn(body: Buffer): string | null {
  try {
    return String((JSON.parse(body.toString()) as { id: unknown }).id)
  } catch {
    return null
  }
}

export interface BrokerAddresses {
  readonly rabbitmqUrl: string | null
  readonly rabbitmqStreamUrl: string | null
  readonly kafkaBootstrap: string | null
}

export const noBroker: BrokerAddresses = { rabbitmqUrl: null, rabbitmqStreamUrl: null, kafkaBootstrap: null }

/** A broker of this run alone, seen from outside the library. */
export interface ChaosBroker {
  readonly inside: BrokerAddresses
  readonly outside: BrokerAddresses
  /** Null where the queue is in the database. */
  readonly link: Link | null
  prepare(names: Names): Promise<void>
  /** kill -9, and a start on the same data. */
  kill(): Promise<void>
  freeze(ms: number): Promise<void>
  /** Everything in a queue or topic that the consumer writes to, repeats included; asked once, at the end. */
  copies(name: string): Promise<Copy[]>
  /** Messages that are not settled; null where only the consumer's position could say. */
  depth(names: Names): Promise<number | null>
  readonly logFiles: () => string[]
  close(): Promise<void>
}

export function startBroker({ source }: Cell, outsideUrl: string): Promise<ChaosBroker> {
  switch (source) {
    case 'postgres':
      return Promise.resolve(databaseBroker(outsideUrl))
    case 'quorum':
    case 'stream':
      return startRabbitmq(source)
    case 'kafka':
      return startKafka()
  }
}
