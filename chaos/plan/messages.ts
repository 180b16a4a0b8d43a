import { hash } from 'node:crypto'
import { seededRandom, wholeBetween } from '../../examples/demo/seeded-random.ts'
import type { SourceKind } from '../cell.ts'

/**
 * - `first`: a request for the first time
 * - `failing`: the same, but its handler throws until an operator has mended it
 * - `rejected`: the same, but its handler rejects it
 * - `duplicate`: the same bytes again
 * - `resent`: the same request under another message id
 * - `conflict`: the id of a `first` with another amount
 * - `hostile`: bytes that no consumer can read
 * - `aborted`: written in a Kafka transaction that is aborted
 */
export type MessageKind =
  | 'first'
  | 'failing'
  | 'rejected'
  | 'duplicate'
  | 'resent'
  | 'conflict'
  | 'hostile'
  | 'aborted'

export interface PlannedMessage {
  readonly kind: MessageKind
  readonly id: string | null
  readonly request: string | null
  readonly key: string | null
  /** Counts the requests of one key. */
  readonly sequence: number
  readonly amount: number
  /** SHA-256 of the body in hex, computed here and not by the library. */
  readonly digest: string
  /** In base64, because hostile bytes are no text. */
  readonly body: string
}

const keys = 24
const shares = { duplicate: 0.15, resent: 0.02, conflict: 0.02, hostile: 0.02, aborted: 0.05 }
const rejectedShare = 0.02
const failingMin = 8
const failingEveryMax = 80

/** The same messages for the same seed, in the order in which the producer sends them. */
export function planMessages(count: number, seed: number, source: SourceKind): PlannedMessage[] {
  const random = seededRandom(seed)
  const share = (kind: keyof typeof shares) => Math.max(1, Math.round(count * shares[kind]))
  const requests = planRequests(count - share('duplicate') - share('resent') - share('conflict'), random)
  const placed = requests.map((message, n) => ({ at: n, message }))
  const plain = requests.filter(({ kind }) => kind === 'first')
  const placeOf = new Map(requests.map((message, n) => [message, n]))
  const later = (message: PlannedMessage) => {
    const from = placeOf.get(message)! + 0.5
    const gap = [0.2, 20, requests.length][wholeBetween(random, 0, 2)]!
    return Math.min(requests.length + random(), from + random() * gap)
  }
  const any = (from: readonly PlannedMessage[]) => from[wholeBetween(random, 0, from.length - 1)]!
  const add = (kind: keyof typeof shares, make: (n: number) => { at: number; message: PlannedMessage }) => {
    for (let n = 0; n < share(kind); n++) placed.push(make(n))
  }
  // Conflicts and resent requests are kept apart, so that the expected outcome is unambiguous.
  const half = Math.ceil(plain.length / 2)
  const conflicting = shuffled(plain.slice(0, half), random)
  add('duplicate', () => {
    const original = any(requests)
    return { at: later(original), message: { ...original, kind: 'duplicate' } }
  })
  add('conflict', n => {
    const original = conflicting[n % conflicting.length]!
    return { at: later(original), message: conflictWith(original, n) }
  })
  add('resent', n => {
    const original = any(plain.slice(half))
    return { at: later(original), message: resend(original, n) }
  })
  add('hostile', n => ({ at: random() * requests.length, message: hostile(n) }))
  if (source === 'kafka')
    add('aborted', n => ({
      at: random() * requests.length,
      message: request('aborted', `aborted-${n}`, n % keys, 0, 7),
    }))
  return placed.sort((a, b) => a.at - b.at).map(({ message }) => message)
}

function planRequests(count: number, random: () => number): PlannedMessage[] {
  const next = new Map<number, number>()
  const failingEvery = Math.max(6, Math.min(failingEveryMax, Math.floor(count / failingMin)))
  return Array.from({ length: count }, (_, n) => {
    const key = wholeBetween(random, 0, keys - 1)
    const sequence = (next.get(key) ?? 0) + 1
    next.set(key, sequence)
    const rejects = random() < rejectedShare
    const kind = n % failingEvery === 3 ? 'failing' : rejects ? 'rejected' : 'first'
    return request(kind, `message-${n}`, key, sequence, wholeBetween(random, 1, 900))
  })
}

function request(
  kind: MessageKind,
  id: string,
  key: number,
  sequence: number,
  amount: number,
): PlannedMessage {
  return withBody({ kind, id, request: `request-of-${id}`, key: `key-${key}`, sequence, amount })
}

function withBody(facts: Omit<PlannedMessage, 'digest' | 'body'>): PlannedMessage {
  const { kind, id, request: name, key, sequence, amount } = facts
  const work = kind === 'failing' || kind === 'rejected' ? kind : 'apply'
  const body = Buffer.from(JSON.stringify({ id, request: name, key, sequence, amount, work }))
  return { ...facts, digest: hash('sha256', body), body: body.toString('base64') }
}

const conflictWith = (original: PlannedMessage, n: number) =>
  withBody({ ...original, kind: 'conflict', amount: original.amount + 1_000 + n })

const resend = (original: PlannedMessage, n: number) =>
  withBody({ ...original, kind: 'resent', id: `${original.id}-again-${n}` })

function hostile(n: number): PlannedMessage {
  const key = `key-${n % keys}`
  const bodies = [
    Buffer.from([0xff, 0xfe, n & 255, n >> 8]),
    Buffer.from(`{"id": "hostile-${n}`),
    Buffer.from(`${'['.repeat(5_000)}${n}`),
    Buffer.from(`{"id": "nul-\\u0000-${n}", "key": "${key}", "sequence": 1, "amount": 1}`),
    Buffer.from(`{"id": "hostile-${n}", "__proto__": {"amount": 1}, "key": "${key}"}`),
    Buffer.from(`{"id": "hostile-${n}", "amount": 900719925474099312345, "key": "${key}"}`),
    Buffer.from(`{"id": "", "key": "${key}", "hostile": ${n}}`),
  ]
  const body = bodies[n % bodies.length]!
  const facts = { kind: 'hostile', id: null, request: null, key, sequence: 0, amount: 0 } as const
  return { ...facts, digest: hash('sha256', body), body: body.toString('base64') }
}

export function shuffled<T>(values: readonly T[], random: () => number): T[] {
  const mixed = [...values]
  for (let n = mixed.length - 1; n > 0; n--) {
    const other = wholeBetween(random, 0, n)
    const kept = mixed[n]!
    mixed[n] = mixed[other]!
    mixed[other] = kept
  }
  return mixed
}
