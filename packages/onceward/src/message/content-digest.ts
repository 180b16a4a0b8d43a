import type { Delivery } from '../ports/source.ts'
import { digestOf, tombstoneDigest } from './digest.ts'
import { storableText } from './identity.ts'

/** As much of a key as a held row keeps: read back from there it must be the same. */
const keyLengthMax = 1_000

/** A record that has no value at all. Bytes that somebody put in its place make a message of it. */
export function isTombstone({ body, properties }: Pick<Delivery, 'body' | 'properties'>): boolean {
  return body.length === 0 && properties.tombstone === true
}

export function contentDigest(delivery: Delivery, listed: readonly string[]): Buffer {
  const { body, headers } = delivery
  return isTombstone(delivery)
    ? tombstoneDigest(storableText(delivery.key, keyLengthMax), headers, listed)
    : digestOf(body, headers, listed)
}

/** Where the headers cannot be taken apart. */
export function plainDigest(delivery: Delivery): Buffer {
  return contentDigest(delivery, [])
}

/** A tombstone was an empty body once, and markers from then are still there. */
export function formerTombstoneDigest({ body, headers }: Delivery, listed: readonly string[]): Buffer {
  try {
    return digestOf(body, headers, listed)
  } catch {
    return digestOf(body, headers, [])
  }
}
