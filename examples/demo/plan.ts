import { hash } from 'node:crypto'
import { seededRandom, wholeBetween } from './seeded-random.ts'

/**
 * - `first`: a capture request for the first time
 * - `duplicate`: the same bytes again
 * - `resent`: the same request under a new message id, as by a producer that retries naively
 * - `conflict`: the id of a `first` with another amount
 * - `malformed`: broken JSON, or an envelope without a required field
 */
export type MessageKind = 'first' | 'duplicate' | 'resent' | 'conflict' | 'malformed'

/** One message of the producer, as recorded in its log. */
export interface PlannedMessage {
  readonly kind: MessageKind
  readonly id: string | null
  readonly capture: string | null
  readonly merchant: string | null
  readonly amount: number | null
  /** SHA-256 of the body in hex, computed here and not by the library. */
  readonly digest: string
  readonly body: string
  /** When to send it, from 0 (start) to 1 (end). */
  readonly at: number
}

const shares = { duplicate: 0.26, resent: 0.02, conflict: 0.015, malformed: 0.015 }

/** The same messages for the same seed, in the order in which they are to be sent. */
export function planMessages(count: number, seed: number): PlannedMessage[] {
  const random = seededRandom(seed)
  const share = (kind: keyof typeof shares) => Math.max(2, Math.round(count * shares[kind]))
  const counts = {
    duplicate: share('duplicate'),
    resent: share('resent'),
    conflict: share('conflict'),
    malformed: share('malformed'),
  }
  const captures = count - counts.duplicate - counts.resent - counts.conflict - counts.malformed
  const firsts = Array.from({ length: captures }, (_, n) => first(n, n / captures, random))
  const messages = [...firsts]
  const any = () => firsts[wholeBetween(random, 0, captures - 1)]!
  for (let n = 0; n < counts.duplicate; n++) messages.push(again(any(), random))
  // Kept apart, so the expected outcome is unambiguous: the first tenth may conflict, the rest may be resent.
  const tenth = Math.ceil(captures / 10)
  const conflicting = picks(random, counts.conflict, 0, tenth - 1)
  for (const n of conflicting) messages.push(conflict(firsts[n]!, random))
  for (let n = 0; n < counts.resent; n++) {
    messages.push(resent(firsts[wholeBetween(random, tenth, captures - 1)]!, n, random))
  }
  for (let n = 0; n < counts.malformed; n++) messages.push(malformed(n, random))
  return messages.sort((a, b) => a.at - b.at)
}

function first(n: number, at: number, random: () => number): PlannedMessage {
  const number = String(n).padStart(7, '0')
  return request('first', at, {
    messageId: `evt-${number}`,
    captureRequestId: `cap-${number}`,
    merchantId: `merchant-${wholeBetween(random, 1, 50)}`,
    amount: wholeBetween(random, 100, 50_000),
  })
}

interface Fields {
  readonly messageId: string
  readonly captureRequestId: string
  readonly merchantId: string
  readonly amount: number
}

function request(kind: MessageKind, at: number, fields: Fields): PlannedMessage {
  const { messageId, captureRequestId, merchantId, amount } = fields
  const rest = { correlationId: `order-${captureRequestId.slice(4)}`, schemaVersion: 1, currency: 'EUR' }
  const body = JSON.stringify({ messageId, captureRequestId, merchantId, amount, ...rest })
  const facts = { id: messageId, capture: captureRequestId, merchant: merchantId, amount }
  return { kind, ...facts, digest: hash('sha256', body), body, at }
}

/** Immediately, a moment later, or any time until the end. */
function later(at: number, random: () => number): number {
  const spread = [0.0001, 0.02, 1 - at][wholeBetween(random, 0, 2)]!
  return Math.min(1, at + random() * spread)
}

function again(original: PlannedMessage, random: () => number): PlannedMessage {
  return { ...original, kind: 'duplicate', at: later(original.at, random) }
}

function resent(original: PlannedMessage, n: number, random: () => number): PlannedMessage {
  const messageId = `${original.id}-again-${n}`
  return request('resent', later(original.at, random), { ...fieldsOf(original), messageId })
}

function conflict(original: PlannedMessage, random: () => number): PlannedMessage {
  const amount = original.amount! + wholeBetween(random, 1, 900)
  return request('conflict', later(original.at, random), { ...fieldsOf(original), amount })
}

function fieldsOf(message: PlannedMessage): Fields {
  const { id, capture, merchant, amount } = message
  return { messageId: id!, captureRequestId: capture!, merchantId: merchant!, amount: amount! }
}

function malformed(n: number, random: () => number): PlannedMessage {
  const fields = {
    messageId: `bad-${n}`,
    captureRequestId: `cap-bad-${n}`,
    merchantId: 'merchant-1',
    amount: 100,
  }
  const whole = request('malformed', random(), fields)
  const value = JSON.parse(whole.body) as Record<string, unknown>
  const bodies = [
    () => whole.body.slice(0, -wholeBetween(random, 1, 40)),
    () => JSON.stringify({ ...value, captureRequestId: undefined }),
    () => JSON.stringify({ ...value, messageId: undefined }),
    () => JSON.stringify({ ...value, correlationId: undefined }),
    () => JSON.stringify({ ...value, schemaVersion: 99 }),
    () => JSON.stringify({ ...value, amount: 'a lot' }),
  ]
  const body = bodies[n % bodies.length]!()
  const nothing = { id: null, capture: null, merchant: null, amount: null }
  return { kind: 'malformed', ...nothing, digest: hash('sha256', body), body, at: whole.at }
}

function picks(random: () => number, count: number, min: number, max: number): Set<number> {
  const picked = new Set<number>()
  const most = Math.min(count, max - min + 1)
  while (picked.size < most) picked.add(wholeBetween(random, min, max))
  return picked
}
