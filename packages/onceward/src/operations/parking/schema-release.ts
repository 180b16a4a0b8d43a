import type { Consumer } from '../../contract/define-consumer.ts'
import { acts } from '../../drivers/postgres/acts.ts'
import {
  readUnknownSchemas,
  type UnknownSchema,
} from '../../drivers/postgres/parking/read-unknown-schemas.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { Environment } from '../../environment.ts'
import { errorText } from '../../errors.ts'
import { decompress } from '../../message/decompress.ts'
import { fromStoredJson } from '../../message/stored-json.ts'
import { act } from '../act.ts'

/** Schemas that one look asks for, and messages that one transaction releases. */
const schemasMax = 100
const messagesMax = 2_000
/** Before every id. */
const first = '0'
const everyDefaultMs = 30_000

export interface SchemaReleaseOptions {
  readonly pool: SqlPool
  readonly consumer: Consumer<never, never>
  readonly env: Environment
  /** Default 30 s. */
  readonly everyMs?: number | undefined
}

/**
 * Releases messages that were parked because their schema was unknown, once the registry knows it:
 *
 *   waiting ──every 30 s──▶ ask the codec for each missing schema ──known──▶ release its messages
 *
 * Several processes may look at the same time: a message is released once. Bytes are not decoded here: a
 * worker does it under its lease, with the protection that a hostile message needs.
 */
export class SchemaRelease {
  readonly finished: Promise<void>
  readonly #options: SchemaReleaseOptions
  readonly #end = Promise.withResolvers<void>()
  #looking: Promise<void> = Promise.resolve()
  #closed = false
  /** Where the next look goes on: schemas that never become known must not keep others from their turn. */
  #after = first
  #cancel: () => void = () => {}

  constructor(options: SchemaReleaseOptions) {
    this.#options = options
    this.finished = this.#end.promise
  }

  async start(): Promise<void> {
    this.#later()
  }

  kick(): void {}

  async drain(): Promise<void> {
    this.leave()
    await this.finished
  }

  leave(): void {
    this.#closed = true
    this.#cancel()
    void this.#looking.then(this.#end.resolve)
  }

  #later(): void {
    if (this.#closed) return
    const { env, everyMs = everyDefaultMs } = this.#options
    this.#cancel = env.timers.after(everyMs, () => {
      this.#looking = this.#look()
        .catch(error =>
          this.#options.env.log.warn('parked messages wait: their schemas were not asked for', {
            consumer: this.#options.consumer.name,
            error: errorText(error),
          }),
        )
        .then(() => this.#later())
    })
  }

  async #look(): Promise<void> {
    const { pool, consumer, env } = this.#options
    const waiting = await readUnknownSchemas(pool, consumer, this.#after, schemasMax, messagesMax)
    this.#after = waiting.length < schemasMax ? first : waiting.at(-1)!.ids[0]!
    for (const unknown of waiting) {
      if (this.#closed) return
      if (!(await this.#knows(unknown))) continue
      const released = await this.#release(unknown)
      if (released > 0)
        env.log.info('messages released: their schema is known now', {
          consumer: consumer.name,
          count: released,
        })
    }
  }

  async #knows({ sample }: UnknownSchema): Promise<boolean> {
    const { codec, limits } = this.#options.consumer.message
    const delivery = {
      headers: fromStoredJson(sample.headers ?? '{}'),
      properties: fromStoredJson(sample.properties ?? '{}') as { contentEncoding?: string },
      key: sample.brokerKey,
    }
    try {
      const bytes = decompress(sample.body, delivery.properties.contentEncoding, limits)
      return (await codec.knows?.(bytes, limits, delivery)) === true
    } catch {
      // No longer of the wire format that the contract has now: an operator decides.
      return false
    }
  }

  async #release({ ids, reason }: UnknownSchema): Promise<number> {
    const { pool, consumer } = this.#options
    const because = `the schema is known now; before: ${reason}`.slice(0, 500)
    const { released } = await act<{ released: number }>(pool, acts.releaseUnknownSchemas, [
      consumer.name,
      ids,
      because,
    ])
    return released
  }
}
