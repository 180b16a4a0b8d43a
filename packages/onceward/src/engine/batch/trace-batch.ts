import type { Received } from '../../message/received.ts'
import { messagingSystem } from '../../ports/messaging-system.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import type { Decided } from './batch-attempt.ts'

/**
 * One span per batch. It links to the messages' traces; for a single message it joins
 * its trace.
 */
export async function tracedBatch<M, Tx>(
  batch: readonly Received<M>[],
  context: ConsumerContext<M, Tx>,
  decide: () => Promise<readonly Decided<M>[]>,
): Promise<readonly Decided<M>[]> {
  const { env, consumer, stage, mode } = context
  const destination = batch[0]!.delivery.origin
  const attributes = {
    'messaging.system': messagingSystem(consumer.source.kind),
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': destination,
    'messaging.consumer.group.name': consumer.name,
    'messaging.batch.message_count': batch.length,
    'onceward.stage': stage,
    'onceward.mode': mode,
  }
  const headersOf = (index: number) => batch[index]!.delivery.headers
  const about = { count: batch.length, headersOf }
  return env.traces.span(
    { name: `process ${destination}`, kind: 'process', attributes, about },
    async span => {
      const decided = await decide()
      if (span.on) span.set(outcomeAttributes(decided))
      return decided
    },
  )
}

function outcomeAttributes(decided: readonly Decided[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { decision } of decided) {
    const name = `onceward.outcome.${decision.outcome.replaceAll(' ', '_')}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}
