import type { Retention } from '../../contract/retention.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { recordTerms } from '../../drivers/postgres/retention/record-pass.ts'
import { termsOf } from './terms.ts'

export { recordPassBegin, recordPassEnd } from '../../drivers/postgres/retention/record-pass.ts'

/** Called at start. Status views show the terms of the contract and when the first pass is due. */
export function declareTerms(
  pool: SqlPool,
  consumerId: number,
  retention: Retention,
  firstInMs: number,
): Promise<void> {
  const { action } = retention
  return recordTerms(pool, consumerId, { terms: termsOf(retention), action }, firstInMs)
}
