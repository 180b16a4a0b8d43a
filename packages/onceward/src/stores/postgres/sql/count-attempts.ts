import type { AttemptRecord, Enrolment } from '../../../contracts/store.ts'
import type { SqlClient } from '../pool.ts'

const insert = `
  insert into onceward.attempt (consumer_id, run_id, message_id, number, failure_class, code, error)
  select $1, $2, failure.id,
    coalesce((select max(number) from onceward.attempt a where a.consumer_id = $1 and a.message_id = failure.id), 0)
      + row_number() over (partition by failure.id),
    failure.failure_class, failure.code, failure.error
  from unnest($3::text[], $4::text[], $5::text[], $6::text[]) as failure (id, failure_class, code, error)
  returning message_id, number`

/**
 * One row per attempt: the count and its history in one. The marker held by this transaction keeps others off the number. Where there are no
 * markers an id may come twice, and another transaction may take the number: serialization trouble, so try again.
 */
export async function countAttempts(
  client: SqlClient,
  { consumerId, runId }: Enrolment,
  failures: readonly AttemptRecord[],
): Promise<readonly number[]> {
  const values = [
    consumerId,
    runId,
    failures.map(failure => failure.id),
    failures.map(failure => failure.failureClass),
    failures.map(failure => failure.code),
    failures.map(failure => failure.error),
  ]
  const { rows } = await client.query(insert, values).catch(error => {
    throw error.code === '23505' ? Object.assign(error, { code: '40001' }) : error
  })
  const numbers = new Map(rows.map(row => [row.message_id as string, row.number as number]))
  return failures.map(failure => numbers.get(failure.id)!)
}
