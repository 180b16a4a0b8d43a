import type { Delivery, DeliveryProperties, Place } from '../../contracts/source.ts'
import type { LogRecord } from './log-record.ts'
import type { Entry, PartitionProgress } from './partition-progress.ts'

/** A record that was handed over. What few ask for is not made for everybody: one object less per record, and no texts nobody reads. */
export class LogDelivery implements Delivery {
  readonly body: Buffer
  readonly origin: string
  readonly token: Entry
  readonly deliveryCount = 0
  readonly #record: LogRecord
  readonly #progress: PartitionProgress

  constructor(record: LogRecord, progress: PartitionProgress, origin: string) {
    const { body, next, properties } = record
    this.body = body
    this.origin = origin
    this.token = progress.hand(next, body.length, properties.timestampMs ?? null)
    this.#record = record
    this.#progress = progress
  }

  get headers(): Readonly<Record<string, unknown>> {
    return this.#record.headers
  }

  get properties(): DeliveryProperties {
    return this.#record.properties
  }

  get position(): string {
    return this.#record.position
  }

  get partition(): string {
    return this.#progress.partition
  }

  get place(): Place {
    const { incarnation, epoch } = this.#progress
    const { at, next } = this.#record
    return { incarnation, epoch, at, next }
  }

  get key(): string | null {
    return this.#record.key
  }

  get redelivered(): boolean {
    return this.#record.redelivered
  }
}
