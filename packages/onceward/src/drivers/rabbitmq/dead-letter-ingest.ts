import type { Channel, GetMessage, Message } from 'amqplib'
import { errorText } from '../../errors.ts'
import { emptyMap } from '../../message/bare-map.ts'
import { reconnectDelayMs, within } from './connection.ts'
import type { QueueDeclaration } from './declaration.ts'
import type { InFlight } from './in-flight.ts'
import { readCount } from './read-count.ts'

export interface DeadLetterIngestOptions {
  /** A separate channel, because its tags are not the consumer's. */
  readonly channel: Channel
  readonly declaration: QueueDeclaration
  /** A message with more counted deliveries is left for an operator. */
  readonly deliveriesMax: number
  readonly inFlight: InFlight
  readonly onDeadLetter: (message: GetMessage, routingKey: string) => void
  readonly onWarning: (reason: string) => void
  /** Called with the reason at each failed look; and with null after the next successful one. */
  readonly onTrouble: (reason: string | null) => void
}

/** Maximum foreign messages held in one look; messages behind them are not reached. */
const foreignMax = 1_000
/**
 * Longest time that foreign messages are withheld from their consumers while a message of ours is handled.
 */
const foreignHeldMs = 5_000
const mixedPauseMs = 60_000
const idleMinMs = 200
const idleMaxMs = 10_000

/**
 * Takes back messages that a delivery limit expired from our queue: those prefetched by a killed process.
 *
 *   looking ──ours──▶ delivered ──settled──▶ looking
 *   looking ──empty, or too many foreign messages──▶ resting ──▶ looking
 *
 * One at a time, because the message that killed the process also arrives here. No other message ages with
 * it, and once it reaches `deliveriesMax` it stays in the queue. A dead-letter queue is often shared, so it
 * is read with single gets instead of a consumer. Foreign messages are held, returned when the look ends,
 * and then left alone for a minute. A consumer would receive the same foreign messages again at once,
 * endlessly, or withhold them from their consumers. A failed look is reported and repeated after a growing
 * pause: no other component would notice that it ended.
 */
export class DeadLetterIngest {
  readonly #options: DeadLetterIngestOptions
  #stopped = false
  #heldTag = 0
  /** Resolves the current wait: the settling of the held message, or the end of a rest. */
  #resume: () => void = () => {}
  #foreign: number[] = []

  constructor(options: DeadLetterIngestOptions) {
    this.#options = options
  }

  /** Resolves when stopped, or when the channel is gone. */
  async run(): Promise<void> {
    let idleMs = idleMinMs
    for (let failures = 0; !this.#stopped; ) {
      let pauseMs: number
      try {
        const { found, mixed } = await this.#look()
        if (failures > 0) this.#options.onTrouble(null)
        failures = 0
        idleMs = found ? idleMinMs : Math.min(idleMaxMs, 2 * idleMs)
        pauseMs = mixed ? mixedPauseMs : idleMs
      } catch (error) {
        // The session ended and its channel closed: the broker requeues everything unsettled.
        if (this.#stopped) return
        failures++
        this.#options.onTrouble(errorText(error, 500))
        pauseMs = Math.max(idleMinMs, reconnectDelayMs(failures))
      }
      if (!this.#stopped) await within(pauseMs, this.#wait())
    }
  }

  /** Takes no further message. The held one may still be settled. */
  stop(): void {
    this.#stopped = true
    this.#resume()
  }

  ack(tag: number): void {
    if (tag !== this.#heldTag) return
    this.#options.channel.ack(messageOf(tag))
    this.#heldTag = 0
    this.#resume()
  }

  /** Returns everything unsettled to its queue. */
  async close(): Promise<void> {
    await this.#options.channel.close()
  }

  async #look(): Promise<{ readonly found: boolean; readonly mixed: boolean }> {
    const { channel, declaration, inFlight } = this.#options
    let found = false
    let mixed = false
    while (!this.#stopped && !inFlight.isOver && this.#foreign.length < foreignMax) {
      const message = await channel.get(declaration.deadLetterIngest!)
      if (message === false || this.#stopped) break
      const settled = this.#begin(message)
      if (settled === null) {
        mixed = true
        this.#foreign.push(message.fields.deliveryTag)
      } else {
        found = true
        await this.#waitWithout(settled)
        // The foreign messages were returned meanwhile: another get would receive the same ones again.
        if (mixed && this.#foreign.length === 0) break
      }
    }
    this.#giveBack()
    return { found, mixed }
  }

  /** Delivers a message of ours; resolves when it is settled. Null for a message that stays in the queue. */
  #begin(message: GetMessage): Promise<void> | null {
    const { declaration, inFlight, onDeadLetter, onWarning } = this.#options
    try {
      const routingKey = this.#wanted(message)
      if (routingKey === null) return null
      onDeadLetter(message, routingKey)
    } catch (error) {
      onWarning(
        `Dead-letter queue ${declaration.deadLetterIngest} holds a message that could not be read: ${errorText(error, 300)}. It stays there for an operator to inspect; later messages are still read.`,
      )
      return null
    }
    this.#heldTag = message.fields.deliveryTag
    inFlight.addBeside(message.content.length)
    return this.#wait()
  }

  /** Foreign messages are not held for as long as one of ours takes. */
  async #waitWithout(settled: Promise<void>): Promise<void> {
    if (this.#foreign.length > 0 && !(await within(foreignHeldMs, settled))) this.#giveBack()
    await settled
  }

  #wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#resume = resolve
    return promise
  }

  /** The routing key of the first publish when the message is ours to take, else null. */
  #wanted(message: GetMessage): string | null {
    const { declaration, deliveriesMax, onWarning } = this.#options
    const { queue, deadLetterIngest: from } = declaration
    const headers = message.properties.headers ?? emptyMap
    const death = limitDeath(headers, queue)
    if (death === null) {
      onWarning(
        `Dead-letter queue ${from} also holds messages that did not come from ${queue} by its delivery limit. They stay there, and it is searched once a minute, past at most ${foreignMax} of them. Each search counts as a delivery of the messages it reads. Give ${queue} a separate dead-letter queue.`,
      )
      return null
    }
    if (readCount(headers['x-delivery-count']) >= deliveriesMax) {
      onWarning(
        `Dead-letter queue ${from} holds messages that were delivered ${deliveriesMax} times without an outcome: each may be crashing its consumer. They stay there for an operator to inspect.`,
      )
      return null
    }
    return firstText(death['routing-keys']) ?? message.fields.routingKey
  }

  #giveBack(): void {
    for (const tag of this.#foreign) this.#options.channel.nack(messageOf(tag), false, true)
    this.#foreign = []
  }
}

interface Death {
  readonly queue?: string
  readonly reason?: string
  readonly 'routing-keys'?: unknown
}

/** The matching entry if the last event of a message was this queue's delivery limit, else null. */
export function limitDeath(headers: Readonly<Record<string, unknown>>, queue: string): Death | null {
  const deaths = headers['x-death']
  if (!Array.isArray(deaths)) return null
  const isOurs = (death: Death | null) => death?.queue === queue && death.reason === 'delivery_limit'
  const [latest] = deaths as Death[]
  const last = {
    queue: (headers['x-last-death-queue'] ?? latest?.queue) as string,
    reason: (headers['x-last-death-reason'] ?? latest?.reason) as string,
  }
  return isOurs(last) ? ((deaths as Death[]).find(isOurs) ?? null) : null
}

/** Publishers may also write this table, with any content. */
function firstText(list: unknown): string | null {
  const first: unknown = Array.isArray(list) ? list[0] : null
  return typeof first === 'string' ? first : null
}

function messageOf(tag: number): Message {
  return { fields: { deliveryTag: tag } } as Message
}
