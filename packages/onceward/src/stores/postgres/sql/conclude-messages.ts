import type { Conclusion, Enrolment } from '../../../contracts/store.ts'
import type { SqlClient } from '../pool.ts'
import { holdMessages } from './hold-messages.ts'

const giveBack = `
  delete from onceward.inbox where consumer_id = $1 and message_id = any($2::text[])`
const giveBackKeys = `
  delete from onceward.business_key where consumer_id = $1 and key = any($2::text[])`
/** For one status at a time: joined with ids and statuses, a table the planner took for small was read once per id (400 ms for 200 of them). */
const change = `
  update onceward.inbox set status = $3::onceward.marker_status, because = $4::jsonb ->> message_id
  where consumer_id = $1 and message_id = any($2::text[])`

/** Everything a batch leaves that is not simply applied: a statement for each kind, however many messages there are. */
export async function concludeMessages(
  client: SqlClient,
  enrolment: Enrolment,
  conclusions: readonly Conclusion[],
): Promise<void> {
  const { consumerId } = enrolment
  const claimed = conclusions.filter(conclusion => conclusion.claimed)
  const retried = claimed.filter(conclusion => conclusion.to === 'retry')
  // What is held is marked by the statement that holds it.
  const changed = claimed.filter(({ to, held }) => held === null && to !== 'retry' && to !== 'applied')
  const freed = claimed.flatMap(conclusion => conclusion.businessKey ?? [])
  if (retried.length > 0) await client.query(giveBack, [consumerId, retried.map(({ id }) => id)])
  if (freed.length > 0) await client.query(giveBackKeys, [consumerId, freed])
  for (const [status, some] of Map.groupBy(changed, ({ to }) => to)) {
    const said = Object.fromEntries(some.map(({ id, because }) => [id, because ?? null]))
    await client.query(change, [consumerId, some.map(({ id }) => id), status, JSON.stringify(said)])
  }
  await holdMessages(client, enrolment, conclusions)
}
