import { createHmac } from 'node:crypto'

/** A key id and its secret bytes. */
export interface SigningKey {
  readonly id: string
  readonly bytes: Buffer
}

/** `whsec_` and base64, the Standard Webhooks form, or any other text verbatim. */
export function signingKey(id: string, secret: string): SigningKey {
  const bytes = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret)
  return { id, bytes }
}

export const signingKeyBytesMin = 16

/** Signs id, time and body, so none of them can be reused in another call. */
export function signatureOf(key: SigningKey, id: string, timestamp: string, body: Uint8Array): Buffer {
  return createHmac('sha256', key.bytes).update(`${id}.${timestamp}.`).update(body).digest()
}

/**
 * The headers of one call, with one signature per key. `webhook-key-id` lists the key ids in the same order.
 */
export function signWebhook(
  keys: readonly SigningKey[],
  id: string,
  nowMs: number,
  body: Uint8Array,
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1_000))
  const signatures = keys.map(key => `v1,${signatureOf(key, id, timestamp, body).toString('base64')}`)
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
    'webhook-key-id': keys.map(key => key.id).join(' '),
  }
}
