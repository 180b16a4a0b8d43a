import type { IdentitySection } from '../contract/contract.ts'
import type { ReadableMessage } from './received.ts'

const uuidv7 = /^([0-9a-f]{8})-?([0-9a-f]{4})-?7[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i
const ulid = /^([0-7][0-9a-hjkmnp-tv-z]{9})[0-9a-hjkmnp-tv-z]{16}$/i
const crockford = '0123456789abcdefghjkmnpqrstvwxyz'

/**
 * When a message was created, in milliseconds since 1970: from its id if the contract declares it, else from
 * the broker; null if unknown.
 */
export function ownTimeMs(
  { id, delivery }: Pick<ReadableMessage, 'id' | 'delivery'>,
  idTime: IdentitySection<never>['idTime'],
): number | null {
  const byId = idTime === undefined ? null : idTimeMs(id, idTime)
  // An operator may write a queue row by hand: its properties can be any JSON.
  const { timestampMs } = delivery.properties
  return byId ?? (Number.isFinite(timestampMs) ? timestampMs! : null)
}

/** The time inside an id; null if the id has another form. */
export function idTimeMs(id: string, form: 'uuidv7' | 'ulid'): number | null {
  if (form === 'uuidv7') {
    const parts = uuidv7.exec(id)
    return parts === null ? null : Number.parseInt(`${parts[1]}${parts[2]}`, 16)
  }
  const parts = ulid.exec(id)
  if (parts === null) return null
  return [...parts[1]!.toLowerCase()].reduce((ms, digit) => ms * 32 + crockford.indexOf(digit), 0)
}
