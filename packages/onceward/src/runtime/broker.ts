import type { Source } from '../contracts/source.ts'
import type { Publisher } from '../effects/publish/publisher.ts'
import { OncewardError } from '../errors.ts'
import type { SqlPool } from '../stores/postgres/pool.ts'
import type { Surroundings } from '../surroundings.ts'

/** What a broker kind needs to be opened: addresses count where the declaration carries none. */
export interface BrokerAccess {
  readonly pool: SqlPool
  readonly rabbitmqUrl?: string | undefined
  readonly streamUrl?: string | undefined
  readonly kafkaBootstrap?: string | undefined
  readonly world: Surroundings
}

export interface Broker {
  readonly source: Source
  /** Makes sure that the place for dead letters exists, so that a mandatory publish can be routed. */
  ensureQueue(name: string): Promise<void>
  openPublisher(): Promise<Publisher>
}

export function addressMissing(from: string, variable: string): OncewardError {
  return new OncewardError(
    'configuration',
    `The contract reads from ${from}, but no address is known. Set ${variable}. Nothing was started.`,
  )
}

/** A broker's client is the user's to install. */
export async function loaded<T>(door: Promise<T>, from: string, client: string): Promise<T> {
  try {
    return await door
  } catch (cause) {
    throw new OncewardError(
      'configuration',
      `The contract reads from ${from}, but ${client} is not installed. Run "npm install ${client}".`,
      { cause },
    )
  }
}
