import { declareDestination, findDestination } from '../drivers/postgres/destinations.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import { OncewardError } from '../errors.ts'
import type { Publisher } from '../ports/publisher.ts'
import type { BrokerIdentity } from '../ports/source.ts'
import type { OutletAddress } from './open-source.ts'

/**
 * An address that messages are sent to, and the destination behind it:
 *
 *   unknown ──reach, or remembered──▶ known ──each connection──▶ the same, or refused
 *
 * A known destination never changes: rows name it, and a connection to another destination is refused.
 */
export class Outlet {
  readonly kind: 'rabbitmq' | 'kafka'
  readonly at: OutletAddress
  readonly #pool: SqlPool
  #publisher: Publisher | null = null
  #destination: string | null = null

  constructor(kind: 'rabbitmq' | 'kafka', at: OutletAddress, pool: SqlPool) {
    this.kind = kind
    this.at = at
    this.#pool = pool
  }

  /** For texts and logs. */
  get label(): string {
    return `${this.kind === 'rabbitmq' ? 'RabbitMQ' : 'Kafka'} at ${this.at.address}`
  }

  /** Null until the broker was reached once. */
  get destination(): string | null {
    return this.#destination
  }

  get publisher(): Publisher {
    return this.#publisher!
  }

  async open(
    make: (onBroker: (broker: BrokerIdentity) => Promise<void>) => Promise<Publisher>,
  ): Promise<this> {
    this.#publisher = await make(broker => this.confirm(broker))
    return this
  }

  /** Rejects with an OncewardError: `broker_unreachable` where trying again may help. */
  async reach(): Promise<string> {
    const { cluster, virtualHost } = this.at
    if (cluster !== undefined)
      this.#destination ??= await declareDestination(this.#pool, {
        kind: this.kind,
        cluster,
        ...(virtualHost !== undefined && { virtualHost }),
      })
    else await this.publisher.connect!()
    if (this.#destination !== null) return this.#destination
    throw new OncewardError(
      'configuration',
      `The ${this.kind} broker at ${this.at.address} does not announce its cluster. Nothing was started. Name it with ONCEWARD_${this.kind.toUpperCase()}_CLUSTER.`,
    )
  }

  /** The broker is unavailable; uses the destination of the consumer's last run. */
  remember(destination: string): void {
    this.#destination ??= destination
  }

  /**
   * Called with the broker of each connection. Rejects when its destination differs from the known one.
   */
  async confirm(broker: BrokerIdentity): Promise<void> {
    if (this.at.cluster !== undefined) return
    const found = await findDestination(this.#pool, broker, this.#destination)
    this.#destination ??= found
    if (this.#destination === found) return
    throw new OncewardError(
      'configuration',
      `${this.at.address} was destination ${this.#destination} and is now ${found}. Nothing was sent or read there, and nothing is lost. If the address was moved on purpose, restart; rows for the old destination wait for a relay that is connected to it.`,
      { details: { was: this.#destination, now: found } },
    )
  }

  async close(): Promise<void> {
    await this.#publisher?.close()
  }
}
