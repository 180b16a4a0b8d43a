import { bareCopy, emptyMap } from '../../../message/bare-map.ts'
import { fromStoredJson } from '../../../message/stored-json.ts'
import type { Delivery, DeliveryProperties } from '../../../ports/source.ts'
import type { LeasedRow } from './lease-messages.ts'

/** One lease on messages. Compared by identity: a delivery belongs to exactly one lease. */
export interface QueueLease {
  readonly id: string
  epoch: number
  /** By the monotonic clock of this process, a little before the database time. Only a hint for `isLive`. */
  untilMs: number
}

export interface QueueToken {
  readonly lease: QueueLease
  readonly id: string
}

/**
 * All messages that are leased and not settled: first buffered, then with the consumer, counted in messages
 * and bytes until forgotten.
 */
export class Holdings {
  readonly #countMax: number
  readonly #bytesMax: number
  readonly #origin: string
  readonly #bytesById = new Map<string, number>()
  #bytes = 0
  #buffer: Delivery[] = []

  constructor(countMax: number, bytesMax: number, origin: string) {
    this.#countMax = countMax
    this.#bytesMax = bytesMax
    this.#origin = origin
  }

  get buffered(): number {
    return this.#buffer.length
  }

  get empty(): boolean {
    return this.#bytesById.size === 0
  }

  get ids(): string[] {
    return [...this.#bytesById.keys()]
  }

  /**
   * Room worth a fetch: any room while the consumer would wait, otherwise at least a quarter, so that fetches
   * stay large.
   */
  get room(): { readonly count: number; readonly bytes: number } | null {
    const count = this.#countMax - this.#bytesById.size
    const bytes = this.#bytesMax - this.#bytes
    if (count <= 0 || (bytes <= 0 && !this.empty)) return null
    if (this.#buffer.length > 0 && count < this.#countMax / 4) return null
    return { count, bytes }
  }

  add(lease: QueueLease, rows: readonly LeasedRow[]): void {
    for (const row of rows) {
      this.#bytesById.set(row.id, row.body.length)
      this.#bytes += row.body.length
      this.#buffer.push(this.#deliver(lease, row))
    }
  }

  take(max: number): Delivery[] {
    return this.#buffer.splice(0, max)
  }

  forget(ids: readonly string[]): void {
    for (const id of ids) {
      this.#bytes -= this.#bytesById.get(id) ?? 0
      this.#bytesById.delete(id)
    }
  }

  clear(): void {
    this.#bytesById.clear()
    this.#bytes = 0
    this.#buffer = []
  }

  #deliver(lease: QueueLease, row: LeasedRow): Delivery {
    const token: QueueToken = { lease, id: row.id }
    return {
      body: row.body,
      headers: row.headers === null ? emptyMap : tableOf(fromStoredJson(row.headers)),
      properties: propertiesOf(row),
      origin: this.#origin,
      position: null,
      partition: '',
      place: null,
      key: row.key,
      redelivered: row.deliveries > 1,
      deliveryCount: row.deliveries - 1,
      token,
    }
  }
}

function propertiesOf({ properties, message_id: messageId }: LeasedRow): DeliveryProperties {
  if (properties === null) return messageId === null ? emptyMap : bareCopy({ messageId })
  const stored = tableOf(fromStoredJson(properties))
  return messageId === null ? stored : bareCopy(stored, { messageId })
}

/** Rows may be inserted manually, with any JSON. */
function tableOf(value: unknown): Readonly<Record<string, unknown>> {
  const isTable = value !== null && typeof value === 'object' && !Array.isArray(value)
  return isTable && !(value instanceof Uint8Array) ? (value as Record<string, unknown>) : emptyMap
}
