import type { Retention } from '../../contract/retention.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { recordTerms } from '../../drivers/postgres/retention/record-pass.ts'
import { termsOf } from './terms.ts'

export { recordPassBegin, recordPassEnd } from '../../drivers/postgres/retention/record-pass.ts'

/**
 * Called at start. Status views show the terms of the contract and when the first pass is due.
 * `redeliveredMs`: the longest time after which a duplicate can arrive; null without markers.
 */
export function declareTerms(
  pool: SqlPool,
  consumerId: number,
  retention: Retention,
  firstInMs: number,
  redeliveredMs: number | null = null,
): Promise<void> {
  const { action, tenantSeparator: separator } = retention
  const tenancy = separator === null || redeliveredMs === null ? null : { separator, redeliveredMs }
  return recordTerms(pool, consumerId, { terms: termsOf(retention), action }, tenancy, firstInMs)
}
