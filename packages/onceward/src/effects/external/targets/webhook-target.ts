import type { WebhookTarget } from '../../../contract/external-target.ts'
import { signingKey, signingKeyBytesMin, signWebhook } from '../webhook/signature.ts'
import { fixedHeaders, openEndpoint, unsendable } from './http-target.ts'
import type { ReadSecret } from './resolve-target.ts'
import type { Send } from './target.ts'

/**
 * A POST signed with every secret of the target, at the time of its claim: the database's clock is the one
 * that is kept right. The key travels as `webhook-id`: receivers do the work once per id.
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
        error: 'A webhook is not called in line: use effects.external. Nothing was sent.',
      }
    const signed = signWebhook(keys, request.key, request.leasedAtMs, request.body)
    return send({ ...headers, 'content-type': request.contentType, ...signed }, request.body, context)
  }
}
