import type { Consumer } from '../contract/define-consumer.ts'
import { errorText } from '../errors.ts'
import type { Delivery, KnownIdentity } from '../ports/source.ts'
import type { EarlierAttempts } from '../ports/suspects.ts'
import { contentDigest, plainDigest } from './content-digest.ts'
import { bytesDigest } from './digest.ts'
import { storableText } from './identity.ts'
import { overLimit } from './limits.ts'
import { idWithoutBody } from './read-identities.ts'
import type { MessageFacts, ProblemKind, Received, UnreadableMessage } from './received.ts'

/**
 * A key for a delivery that is not read yet. No id begins with a space. It derives from the bytes and from
 * what the broker distinguishes deliveries by, never from decoded headers: decoding them may throw or crash
 * the process, and the attempt must be recorded before.
 */
export function bytesKey<M, Tx>({ identity }: Consumer<M, Tx>, delivery: Delivery): string {
  const known = knownOf(delivery)
  if (known !== undefined) return ` bytes ${known.digest.toString('hex')}`
  const { body, position, key, properties } = delivery
  const apart =
    position ?? JSON.stringify([key, idWithoutBody(identity.id, delivery), text(properties.messageId)])
  return ` bytes ${bytesDigest(Buffer.concat([Buffer.from(`${apart}\0`), body])).toString('hex')}`
}

const text = (value: unknown) => (typeof value === 'string' ? value : null)

/**
 * A held message keeps the identity of its marker, even if the contract or its bytes have changed since.
 * Without one it is read again.
 */
export function knownOf({ held, archived }: Delivery): KnownIdentity | undefined {
  if (held === undefined) return archived
  return held.messageId === null ? undefined : (held as KnownIdentity)
}

/** A message that crashes its reader and is not read again. */
export function unreadKiller<M, Tx>(
  consumer: Consumer<M, Tx>,
  delivery: Delivery,
  earlier: EarlierAttempts,
): UnreadableMessage {
  return {
    readable: false,
    delivery,
    digest: orElse(
      () => rawDigest(consumer, delivery),
      () => plainDigest(delivery),
    ),
    id: knownOf(delivery)?.messageId ?? idWithoutBody(consumer.identity.id, delivery),
    lane: consumer.order === 'partition' ? delivery.partition : null,
    problem: { kind: 'process died', text: 'its process crashed while reading it', earlier },
  }
}

/** True for a message that was not read in time: reading it again may help. */
export function isUnvalidated(received: Received): boolean {
  return !received.readable && received.problem.kind === 'unvalidated'
}

/** For an unexpected error while reading: treated like unreadable bytes, with the reason. */
export function unreadableBy<M, Tx>(
  { identity, order }: Consumer<M, Tx>,
  delivery: Delivery,
  error: unknown,
): Received<never> {
  const known = knownOf(delivery)
  return unreadable(
    delivery,
    known?.digest ?? plainDigest(delivery),
    known?.messageId ?? idWithoutBody(identity.id, delivery),
    order === 'partition' ? delivery.partition : null,
    'undecodable',
    `reading failed: ${errorText(error, 400)}`,
  )
}

function rawDigest<M, Tx>({ message }: Consumer<M, Tx>, delivery: Delivery): Buffer {
  const listed = overLimit(delivery, message.limits) === null ? message.digestHeaders : []
  return knownOf(delivery)?.digest ?? contentDigest(delivery, listed)
}

export function unreadable(
  delivery: Delivery,
  digest: Buffer,
  id: string | null,
  lane: string | null,
  kind: ProblemKind,
  text: string,
  facts?: () => MessageFacts,
): Received<never> {
  return {
    readable: false,
    delivery,
    digest,
    id,
    lane,
    problem: { kind, text: storableText(text, 500) ?? '' },
    ...(facts !== undefined && { facts }),
  }
}

export function orElse<T>(work: () => T, instead: (error: unknown) => T): T {
  try {
    return work()
  } catch (error) {
    return instead(error)
  }
}
