import type { HttpTarget, WebhookTarget } from '../../../contract/external-target.ts'
import { withDefaults } from '../../../contract/options/defaults.ts'
import { bytesDigest } from '../../../message/digest.ts'
import type { Answer } from '../answer.ts'
import { openHttp, type SendHttp } from '../http/send-http.ts'
import type { ReadSecret } from './resolve-target.ts'
import type { Outbound, Send } from './target.ts'

/**
 * Visible ASCII, no space at either end. HTTP would trim or refuse other values, and a trimmed key is a
 * different key.
 */
const sendableKey = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/
const sendableType = /^[\x20-\x7e]{1,200}$/

/** Sends the stored bytes under the stored key, without redirects, under one deadline. */
export function httpSend(target: HttpTarget, secret: ReadSecret): Send {
  const { method, replayedHeader, keyHeader } = withDefaults('effect.external.*', target)
  const send = openEndpoint(target, method, replayedHeader)
  const headers = fixedHeaders(target, secret)
  return async (request, context) => {
    const problem = unsendable(request)
    if (problem !== null) return problem
    const key = keyHeader === null ? {} : { [keyHeader.toLowerCase()]: request.key }
    return send({ ...headers, 'content-type': request.contentType, ...key }, request.body, context)
  }
}

export function openEndpoint(
  target: HttpTarget | WebhookTarget,
  method: string,
  replayedHeader: string,
): SendHttp {
  const { allowPrivate, policy, concurrencyMax, timeoutMs } = withDefaults('effect.external.*', target)
  return openHttp({
    url: new URL(target.url),
    method,
    replayedHeader: replayedHeader.toLowerCase(),
    allowPrivate: allowPrivate === true,
    keepConnections: policy === 'keyed',
    connectionsMax: concurrencyMax,
    timeoutMs,
  })
}

export function fixedHeaders(
  { headers = {} }: HttpTarget | WebhookTarget,
  secret: ReadSecret,
): Record<string, string> {
  const values = Object.entries(headers).map(([name, value]) => [
    name.toLowerCase(),
    typeof value === 'string' ? value : secret(value),
  ])
  return Object.fromEntries(values)
}

export function unsendable({ key, body, contentType, requestDigest }: Outbound): Answer | null {
  if (!sendableKey.test(key))
    return notSendable(
      'The key cannot be an HTTP header value: only visible ASCII, without spaces at its ends, reaches the target unchanged. Nothing was sent.',
    )
  if (!sendableType.test(contentType))
    return notSendable('The content type cannot be an HTTP header value. Nothing was sent.')
  return changedBytes(body, requestDigest)
}

export function changedBytes(body: Buffer, requestDigest: Buffer): Answer | null {
  if (bytesDigest(body).equals(requestDigest)) return null
  return notSendable(
    'The stored bytes differ from those the intent was recorded with. Nothing was sent. Find out who changed the row.',
  )
}

function notSendable(error: string): Answer {
  return { kind: 'not sendable', error }
}
