import type { Envelope } from '../../contract/handler.ts'
import type { ReadableMessage } from '../../message/received.ts'
import type { ConsumerContext } from '../consumer-context.ts'

/** The envelope as handlers see it: with the mode and the campaign, which reading does not know. */
export function handlerEnvelope<M, Tx>(
  { envelope }: ReadableMessage<M>,
  { mode, campaignId, enrolment }: ConsumerContext<M, Tx>,
): Envelope {
  if (mode === 'live') return envelope
  return { ...envelope, replay: { mode, campaign: campaignId ?? enrolment.campaignId ?? null } }
}
