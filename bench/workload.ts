import { hash } from 'node:crypto'

/** Ids that rise with time touch the right edge of the index only; random ones touch all of it. */
export type IdOrder = 'ordered' | 'random'

/** What one contender consumes in one round. The same load always stands for the same bytes. */
export interface Load {
  readonly ids: IdOrder
  readonly round: number
  readonly count: number
  /** Default `shared`. `distinct`: message n adds to counter n, so that each message can be checked by itself. */
  readonly keys?: 'shared' | 'distinct'
  /** Of a body; default 250. */
  readonly bytes?: number
}

export interface Increment {
  readonly id: string
  readonly key: number
  readonly amount: number
}

export const keyCount = 1_000
export const messageBytes = 250

/** JSON bodies. */
export function* bodiesOf(load: Load): Generator<Buffer> {
  for (const increment of incrementsOf(load)) yield bodyOf(increment, load.bytes)
}

/** The counter key is drawn at random, so that concurrent batches write the same rows. */
export function* incrementsOf({ ids, round, count, keys = 'shared' }: Load): Generator<Increment> {
  for (let index = 0; index < count; index++) {
    const digits = hash('md5', `${ids}/${round}/${index}`)
    yield {
      id: ids === 'random' ? asUuid(digits) : orderedId(round, index),
      key: keys === 'distinct' ? index : Number.parseInt(digits.slice(0, 8), 16) % keyCount,
      amount: amountOf(index),
    }
  }
}

export function bodyOf(message: Increment, bytes = messageBytes): Buffer {
  const bare = JSON.stringify({ ...message, pad: '' })
  return Buffer.from(JSON.stringify({ ...message, pad: 'x'.repeat(bytes - bare.length) }))
}

const amountOf = (index: number) => 1 + (index % 3)

/** What the counters must add up to when every message was applied exactly once. */
export function sumOf(count: number): number {
  const rest = count % 3
  return Math.floor(count / 3) * 6 + (rest === 0 ? 0 : rest === 1 ? 1 : 3)
}

function asUuid(digits: string): string {
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20)}`
}

/** As long as a UUID, and rising like the ones that begin with a time. */
function orderedId(round: number, index: number): string {
  return `01900000-${String(round).padStart(4, '0')}-7000-8000-${String(index).padStart(12, '0')}`
}
