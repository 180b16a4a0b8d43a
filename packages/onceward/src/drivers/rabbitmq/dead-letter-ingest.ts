import type { Channel, GetMessage, Message } from 'amqplib'
import { errorText } from '../../errors.ts'
import { emptyMap } from '../../message/bare-map.ts'
import { reconnectDelayMs, within } from './connection.ts'
import type { QueueDeclaration } from './declaration.ts'
import type { InFlight } from './in-flight.ts'
import { readCount } from './read-count.ts'

export interface DeadLetterIngestOptions {
  /** A channel of its own: its tags are not the consumer's. */
  readonly channel: Channel
  readonly declaration: QueueDeclaration
  /** A message the broker counts more hand-overs for is left to people. */
  readonly handOversMax: number
  readonly inFlight: InFlight
  readonly onDeadLetter: (message: GetMessage, routingKey: string) => void
  readonly onWarning: (reason: string) => void
  /**
   * Called at each failure of a look, with the reason; and with null after the next one that did not fail.
   */
  readonly onTrouble: (reason: string | null) => void
}

/** Strangers set aside in one look at most: what lies behind more of them is not reached. */
const strangersMax = 1_000
/** Longest that strangers are out of their owners' sight while a message of ours is being worked on. */
const strangersHeldMs = 5_000
const mixedPauseMs = 60_000
const idleMinMs = 200
const idleMaxMs = 10_000

/**
 * Takes back what a delivery limit aged out of our queue: prefetched bystanders of a process that was killed.
 *
 *   looking ──ours──▶ handed over ──settled──▶ looking      looking ──empty, or too many strangers──▶ resting ──▶ looking
 *
 * One at a time, because the message that killed the process comes this way too: nobody ages beside it, and
 * once `handOversMax` is reached it is left where it is. A dead-letter queue is often shared, so it is looked
 * through with single gets rather than consumed: strangers are set aside, given back when the look ends, and
 * then left in peace for a minute. A consumer would be handed the same strangers again at once, for ever, or
 * hold them out of their owners' sight. A look that fails is told and tried again after a pause that grows:
 * nobody else would notice that it ended.
 */
export class DeadLetterIngest {
  readonly #options: DeadLetterIngestOptions
  #stopped = false
  #heldTag = 0
  /** Resolves what is being waited for: the settling of the held message, or the end of a rest. */
  #goOn: () => void = () => {}
  #strangers: number[] = []

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
        // Stopped with its session, whose channel closed: everything unsettled is the broker's again.
        if (this.#stopped) return
        failures++
        this.#options.onTrouble(errorText(error, 500))
        pauseMs = Math.max(idleMinMs, reconnectDelayMs(failures))
      }
      if (!this.#stopped) await within(pauseMs, this.#wait())
    }
  }

  /** Takes nothing more. What is held may still be settled. */
  stop(): void {
    this.#stopped = true
    this.#goOn()
  }

  ack(tag: number): void {
    if (tag !== this.#heldTag) return
    this.#options.channel.ack(messageOf(tag))
    this.#heldTag = 0
    this.#goOn()
  }

  /** Hands everything unsettled back to its queue. */
  async close(): Promise<void> {
    await this.#options.channel.close()
  }

  async #look(): Promise<{ readonly found: boolean; readonly mixed: boolean }> {
    const { channel, declaration, inFlight } = this.#options
    let found = false
    let mixed = false
    while (!this.#stopped && !inFlight.isOver && this.#strangers.length < strangersMax) {
      const message = await channel.get(declaration.deadLetterIngest!)
      if (message === false || this.#stopped) break
      const settled = this.#begin(message)
      if (settled === null) {
        mixed = true
        this.#strangers.push(message.fields.deliveryTag)
      } else {
        found = true
        await this.#waitWithout(settled)
        // They were given back meanwhile: going on now would take the same ones again.
        if (mixed && this.#strangers.length === 0) break
      }
    }
    this.#giveBack()
    return { found, mixed }
  }

  /** Hands a message of ours over; resolves when it is settled. Null for one that stays where it is. */
  #begin(message: GetMessage): Promise<void> | null {
    const { declaration, inFlight, onDeadLetter, onWarning } = this.#options
    try {
      const routingKey = this.#wanted(message)
      if (routingKey === null) return null
      onDeadLetter(message, routingKey)
    } catch (error) {
      onWarning(
        `Dead-letter queue ${declaration.deadLetterIngest} holds a message that could not be taken: ${errorText(error, 300)}. It is left there for people to look at, and those behind it are taken.`,
      )
      return null
    }
    this.#heldTag = message.fields.deliveryTag
    inFlight.addBeside(message.content.length)
    return this.#wait()
  }

  /** Strangers are not kept for as long as one of ours takes. */
  async #waitWithout(settled: Promise<void>): Promise<void> {
    if (this.#strangers.length > 0 && !(await within(strangersHeldMs, settled))) this.#giveBack()
    await settled
  }

  #wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#goOn = resolve
    return promise
  }

  /** The routing key it was first published with when it is ours to take, else null. */
  #wanted(message: GetMessage): string | null {
    const { declaration, handOversMax, onWarning } = this.#options
    const { queue, deadLetterIngest: from } = declaration
    const headers = message.properties.headers ?? emptyMap
    const death = limitDeath(headers, queue)
    if (death === null) {
      onWarning(
        `Dead-letter queue ${from} also holds messages that did not come from ${queue} by its delivery limit. They are left there, and it is looked through once a minute, at most ${strangersMax} of them deep. Each look counts as a hand-over of what it finds. Give ${queue} a dead-letter queue of its own.`,
      )
      return null
    }
    if (readCount(headers['x-delivery-count']) >= handOversMax) {
      onWarning(
        `Dead-letter queue ${from} holds messages that were handed over ${handOversMax} times without an outcome: each may be killing its consumer. They are left there for people to look at.`,
      )
      return null
    }
    return firstText(death['routing-keys']) ?? message.fields.routingKey
  }

  #giveBack(): void {
    for (const tag of this.#strangers) this.#options.channel.nack(messageOf(tag), false, true)
    this.#strangers = []
  }
}

interface Death {
  readonly queue?: string
  readonly reason?: string
  readonly 'routing-keys'?: unknown
}

/**
 * The entry that says so when the last thing that happened to a message was the delivery limit of this queue.
 */
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

/** Publishers may write this table too, and anything into it. */
function firstText(list: unknown): string | null {
  const first: unknown = Array.isArray(list) ? list[0] : null
  return typeof first === 'string' ? first : null
}

function messageOf(tag: number): Message {
  return { fields: { deliveryTag: tag } } as Message
}
