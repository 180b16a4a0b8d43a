import { hash } from 'node:crypto'
import type { Envelope } from '../../contract/handler.ts'
import { OncewardError } from '../../errors.ts'
import { isNamed } from '../declared/is-named.ts'

/** A command with an identity derived from its cause. Creating it again creates the same command. */
export interface Command<P> {
  /**
   * A UUID that depends only on consumer, type and cause. Use it as message id, idempotency key or primary
   * key.
   */
  readonly id: string
  readonly type: string
  readonly body: P
  /** The correlation id of the event, or the event's id if it has none. */
  readonly correlationId: string
  /** The event that caused it. */
  readonly causationId: string
  /** The causation id for readers of headers: `causation-id`. */
  readonly headers: Readonly<Record<string, string>>
}

/** Options of `commandFrom`. */
export interface CommandOptions<P> {
  /**
   * The consumer that issues the command. A namespace, so the commands of two consumers never share an id.
   */
  readonly consumer: string
  /** The command's name, such as `CreateSupervisorAlert`. */
  readonly type: string
  readonly body: P
  /**
   * The business cause, when several events share one: `['case-escalation', caseId, version]`. Default: the
   * event's id, otherwise the message's id.
   */
  readonly cause?: readonly (string | number | bigint)[]
}

/**
 * Turns an event into a command. "Do something" becomes "ensure that this exists once for this cause". A
 * redelivery, a replay and a second event for the same cause all produce the same command id. Pure. Pass the
 * result to `effects.publish`.
 */
export function commandFrom<P>(
  event: Pick<Envelope, 'id' | 'eventId' | 'correlationId'>,
  { consumer, type, body, cause }: CommandOptions<P>,
): Command<P> {
  const causationId = event.eventId ?? event.id
  const parts = cause ?? [causationId]
  const needs = (name: string) =>
    new OncewardError('usage', `commandFrom needs a ${name}; without it commands would share an id.`)
  if (typeof consumer !== 'string' || consumer === '') throw needs('consumer')
  if (typeof type !== 'string' || type === '') throw needs('type')
  if (parts.length === 0) throw needs('cause')
  if (!parts.every(isNamed)) throw needs('value for every part of its cause, numbers below 2^53 or as text')
  return {
    id: uuidOf(JSON.stringify([consumer, type, ...parts.map(String)])),
    type,
    body,
    correlationId: event.correlationId ?? causationId,
    causationId,
    headers: { 'causation-id': causationId },
  }
}

/**
 * UUID version 8: the first 122 free bits of the SHA-256. JSON delimits the parts, so different parts never
 * produce the same text.
 */
function uuidOf(text: string): string {
  const hex = hash('sha256', text)
  const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16)
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}
