import type { Enrolment } from '../../../ports/enrolment.ts'
import type { NewMarker } from '../../../ports/markers.ts'
import type { Receipt } from '../../../ports/receipts.ts'
import type { SqlClient } from '../pool.ts'
import { packReceipts } from './pack-receipts.ts'

/** Ids as numbers: an index over arrays of them finds the row of a message that has no marker. */
export const hashesOf = (ids: string) =>
  `array(select hashtextextended(kept.id, 0) from unnest(${ids}) as kept (id))`

export const receiptColumns = 'consumer_id, run_id, count, facts, digests, payloads, id_hashes'

const keep = `
  insert into onceward.receipt (${receiptColumns})
  values ($1, current_setting('onceward.run')::integer, cardinality($2::text[]), $3::json, $4, $5,
    case when $6 then ${hashesOf('$2::text[]')} end)`

/** The receipts of messages without markers. */
export async function keepReceipts(
  client: SqlClient,
  { consumerId }: Enrolment,
  messages: readonly (Pick<NewMarker, 'id' | 'digest'> & { readonly receipt: Receipt })[],
): Promise<void> {
  const { facts, payloads, isIndexed } = packReceipts(messages)
  const digests = Buffer.concat(messages.map(({ digest }) => digest))
  const ids = messages.map(({ id }) => id)
  await client.query(keep, [consumerId, ids, facts, digests, payloads, isIndexed])
}
