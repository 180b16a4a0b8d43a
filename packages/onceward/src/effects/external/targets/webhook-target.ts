import type { WebhookTarget } from '../../../contract/external-target.ts'
import { signingKey, signingKeyBytesMin, signWebhook } from '../webhook/signature.ts'
import { fixedHeaders, openEndpoint, unsendable } from './http-target.ts'
import type { ReadSecret } from './resolve-target.ts'
import type { Send } from './target.ts'

/**
 * Sends a POST signed with every secret of the target. The signed time is that of the lease, by the database
 * clock, which is the one kept correct. The key is sent as `webhook-id`: receivers do the work once per id.
 */
export function webhookSend(
  target: WebhookTarget,
  secret: ReadSecret,
  refused: (why: string) => Error,
): Send {
  const keys = Object.entries(target.secrets).map(([id, one]) => signingKey(id, secret(one)))
  const short = keys.find(key => key.bytes.length < signingKeyBytesMin)
  if (short !== undefined)
    throw refused(`the secret of key id ${short.id} is shorter than ${signingKeyBytesMin} bytes`)
  const send = openEndpoint(target, 'POST', 'Idempotent-Replayed')
  const headers = fixedHeaders(target, secret)
  return async (request, context) => {
    const problem = unsendable(request)
    if (problem !== null) return problem
    if (request.leasedAtMs === null)
      return {
        kind: 'not sendable',
        error: 'A webhook cannot be called inline: use effects.external. Nothing was sent.',
      }
    const signed = signWebhook(keys, request.key, request.leasedAtMs, request.body)
    return send({ ...headers, 'content-type': request.contentType, ...signed }, request.body, context)
  }
}
