import type { Surroundings } from '../surroundings.ts'
import type { RelayedBroker } from './open-publisher.ts'
import type { RelayCarrier } from './open-relays.ts'
import { type StartOptions, startPatiently } from './patient-start.ts'
import { reachServers, type Server } from './reach-servers.ts'
import { type BrokerAddresses, kafka, rabbitmq } from './servers-of.ts'

/**
 * Beside relays, which connect with their first row: each broker is asked for at the start, so that a relay is not called ready that could
 * carry nothing. The other brokers' rows leave meanwhile.
 */
export function reachBrokers(
  brokers: readonly RelayedBroker[],
  options: BrokerAddresses & Pick<StartOptions, 'startTimeoutMs'>,
  world: Surroundings,
): readonly RelayCarrier[] {
  const servers = [...new Set(brokers)].flatMap(broker => {
    if (broker === 'rabbitmq') return rabbitmq('RabbitMQ', options.rabbitmqUrl)
    return broker === 'kafka' ? kafka(options.kafkaBootstrap) : []
  })
  return servers.map(server => new BrokerReach(server, options.startTimeoutMs, world))
}

class BrokerReach implements RelayCarrier {
  readonly #server: Server
  readonly #startTimeoutMs: number | undefined
  readonly #world: Surroundings
  readonly #stopped = new AbortController()
  readonly #done = Promise.withResolvers<void>()
  #reached = false

  constructor(server: Server, startTimeoutMs: number | undefined, world: Surroundings) {
    this.#server = server
    this.#startTimeoutMs = startTimeoutMs
    this.#world = world
    this.#done.promise.catch(() => {})
  }

  get away(): readonly string[] {
    const { name, addresses } = this.#server
    const at = addresses.map(({ host, port }) => `${host}:${port}`).join(', ')
    return this.#reached ? [] : [`${name} at ${at}`]
  }

  get finished(): Promise<void> {
    return this.#done.promise
  }

  start(): void {
    const options = { startTimeoutMs: this.#startTimeoutMs, signal: this.#stopped.signal }
    startPatiently(signal => reachServers([this.#server], signal), options, this.#world).then(
      () => {
        this.#reached = true
      },
      error => {
        if (!this.#stopped.signal.aborted) this.#done.reject(error)
      },
    )
  }

  kick(): void {}

  async drain(): Promise<void> {
    this.leave()
  }

  leave(): void {
    this.#stopped.abort()
    this.#done.resolve()
  }
}
