import { setTimeout as sleep } from 'node:timers/promises'
import { OncewardError } from '../../errors.ts'
import type { RecordResult } from './client/partition-line.ts'
import type { TopicRecord } from './client/producer.ts'
import { batchBytes } from './client/record-batch.ts'

/** Maximum wait for the limits: the results of the whole call wait for them. */
const askMs = 1_000

type Limits = ReadonlyMap<string, number | Error>

/**
 * Adds to each size refusal the size of the record and the limit of its topic. Queries the limits only then.
 */
export async function explainRefusals(
  results: readonly RecordResult[],
  records: readonly TopicRecord[],
  read: (topics: readonly string[]) => Promise<Limits>,
): Promise<readonly RecordResult[]> {
  const refused = records.filter((_, index) => isTooLarge(results[index]))
  if (refused.length === 0) return results
  const topics = [...new Set(refused.map(({ topic }) => topic))]
  const limits = await Promise.race([read(topics).catch(() => null), sleep(askMs, null, { ref: false })])
  return results.map((result, index) =>
    isTooLarge(result) ? explained(result, records[index]!, limits) : result,
  )
}

function isTooLarge(result: RecordResult | undefined): result is OncewardError {
  return (
    result instanceof OncewardError &&
    (result.details.kafka === 'MESSAGE_TOO_LARGE' || result.details.kafka === 'RECORD_LIST_TOO_LARGE')
  )
}

function explained(refusal: OncewardError, record: TopicRecord, limits: Limits | null): OncewardError {
  const bytes = batchBytes(record)
  const limit = limits?.get(record.topic)
  const bytesMax = typeof limit === 'number' ? limit : null
  const takes =
    bytesMax === null
      ? `Topic ${record.topic} does not accept ${bytes} bytes`
      : `Topic ${record.topic} accepts ${bytesMax} bytes, and this record has ${bytes}`
  return new OncewardError(
    'publish_refused',
    `${takes}: Kafka refused it with ${refusal.details.kafka}. It was not stored. Raise max.message.bytes of the topic, and the next attempt succeeds; or drop it with "onceward outbox drop".`,
    { cause: refusal.cause, details: { ...refusal.details, bytes, bytesMax } },
  )
}
