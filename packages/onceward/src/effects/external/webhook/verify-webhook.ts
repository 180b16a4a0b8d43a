import { timingSafeEqual } from 'node:crypto'
import { signatureOf, signingKey, signingKeyBytesMin } from './signature.ts'

/** A received webhook: its headers, its bytes and the secrets of the sender. */
export interface WebhookToVerify {
  /** In lower case, as Node provides them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The raw bytes, before parsing. */
  readonly body: Uint8Array
  /** Key id → secret; several during a rotation. */
  readonly secrets: Readonly<Record<string, string>>
  /** The receiver's clock: `Date.now()`. */
  readonly nowMs: number
  /** Default 5 min, in both directions. Older calls may be replayed recordings. */
  readonly toleranceMs?: number
}

/** `id` is the same in every repetition of a call: store it, and do the work once. */
export type VerifiedWebhook =
  | { readonly ok: true; readonly id: string; readonly keyId: string }
  | { readonly ok: false; readonly reason: string }

/**
 * For receivers. Returns the signing key and the call's id, or why the call is not authentic. Never throws.
 */
export function verifyWebhook(call: WebhookToVerify): VerifiedWebhook {
  const { headers, body, secrets, nowMs, toleranceMs = 300_000 } = call
  const id = headers['webhook-id']
  const timestamp = headers['webhook-timestamp']
  const signatures = headers['webhook-signature']
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string')
    return refused('not signed: webhook-id, webhook-timestamp or webhook-signature is missing')
  if (!/^\d{1,12}$/.test(timestamp)) return refused('webhook-timestamp is not a Unix time')
  if (Math.abs(nowMs - Number(timestamp) * 1_000) > toleranceMs)
    return refused('signed too long ago, or in the future')
  const given = signatures
    .split(' ')
    .slice(0, 10)
    .filter(signature => signature.startsWith('v1,'))
    .map(signature => Buffer.from(signature.slice(3), 'base64'))
  for (const [keyId, secret] of Object.entries(secrets)) {
    const key = typeof secret === 'string' ? signingKey(keyId, secret) : null
    // An unset variable would be a secret that is publicly known.
    if (key === null || key.bytes.length < signingKeyBytesMin) continue
    const wanted = signatureOf(key, id, timestamp, body)
    if (given.some(one => one.length === wanted.length && timingSafeEqual(one, wanted)))
      return { ok: true, id, keyId }
  }
  return refused('no signature by a known key')
}

function refused(reason: string): VerifiedWebhook {
  return { ok: false, reason }
}
