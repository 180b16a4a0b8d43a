import type { AttemptCount, AttemptRecord } from '../../../ports/conclusion.ts'
import type { Enrolment } from '../../../ports/enrolment.ts'
import type { SqlClient } from '../pool.ts'

/**
 * The history of a message is a few rows: one read yields the next number and every count. `offset 0` forces
 * single look-ups, see `lookupByKey`.
 */
const insert = `
  with failure as materialized (
    select f.*, row_number() over (partition by f.id order by f.n)::integer as nth
    from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
      with ordinality as f (id, failure_class, code, error, place, n)),
  earlier as materialized (
    select ids.id, a.* from (select distinct id from failure) ids
    cross join lateral (
      select a.number, a.failure_class, a.code, a.place from onceward.attempt a
      where a.consumer_id = $1 and a.message_id = ids.id offset 0) a),
  counted as (
    insert into onceward.attempt (consumer_id, run_id, message_id, number, failure_class, code, error, place)
    select $1, $2, f.id, coalesce((select max(number) from earlier e where e.id = f.id), 0) + f.nth, f.failure_class, f.code, f.error,
      f.place
    from failure f)
  select f.n::integer as n, f.nth, coalesce(max(e.number), 0) as before,
    count(e.number) filter (where e.failure_class = f.failure_class and e.code = f.code and e.place = f.place)::integer as same,
    array_remove(array_agg(e.failure_class), null) as classes
  from failure f left join earlier e on e.id = f.id
  group by f.n, f.nth`

/**
 * One row per attempt: the count and its history in one. The marker of this transaction protects the number.
 * Without markers an id may arrive twice, and another transaction may use the number: a serialization
 * failure, which is retried.
 */
export async function countAttempts(
  client: SqlClient,
  { consumerId, runId }: Enrolment,
  failures: readonly AttemptRecord[],
): Promise<readonly AttemptCount[]> {
  const values = [
    consumerId,
    runId,
    failures.map(failure => failure.id),
    failures.map(failure => failure.failureClass),
    failures.map(failure => failure.code),
    failures.map(failure => failure.error),
    failures.map(failure => failure.place),
  ]
  const { rows } = await client.query(insert, values).catch(error => {
    throw error.code === '23505' ? Object.assign(error, { code: '40001' }) : error
  })
  const counts: AttemptCount[] = []
  for (const { n, nth, before, same, classes } of rows) {
    const { failureClass } = failures[n - 1]!
    const byClass: Record<string, number> = { [failureClass]: nth }
    for (const one of classes as string[]) byClass[one] = (byClass[one] ?? 0) + 1
    counts[n - 1] = { total: before + nth, byClass, same: same + nth }
  }
  return counts
}
