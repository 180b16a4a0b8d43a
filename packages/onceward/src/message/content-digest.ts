import type { Delivery } from '../ports/source.ts'
import { digestOf, tombstoneDigest } from './digest.ts'
import { storableText } from './identity.ts'

/** The length of a key in a held row: the digest must be the same when the row is read back. */
const keyLengthMax = 1_000

/** A record without a value. If an operator replaces its bytes, it becomes an ordinary message. */
export function isTombstone({ body, properties }: Pick<Delivery, 'body' | 'properties'>): boolean {
  return body.length === 0 && properties.tombstone === true
}

export function contentDigest(delivery: Delivery, listed: readonly string[]): Buffer {
  const { body, headers } = delivery
  return isTombstone(delivery)
    ? tombstoneDigest(storableText(delivery.key, keyLengthMax), headers, listed)
    : digestOf(body, headers, listed)
}

/** For deliveries whose headers cannot be decoded. */
export function plainDigest(delivery: Delivery): Buffer {
  return contentDigest(delivery, [])
}

/** Earlier versions digested a tombstone as an empty body, and their markers still exist. */
export function formerTombstoneDigest({ body, headers }: Delivery, listed: readonly string[]): Buffer {
  try {
    return digestOf(body, headers, listed)
  } catch {
    return digestOf(body, headers, [])
  }
}
