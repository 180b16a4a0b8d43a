import type { Conclusion, Enrolment } from '../../../contracts/store.ts'
import type { SqlClient } from '../pool.ts'
import { holdMessages } from './hold-messages.ts'
import { oneByOne } from './one-by-one.ts'

const asked = 'unnest($2::text[]) as asked (key)'
const giveBack = `
  delete from onceward.inbox where ctid = any (array(select ctid from ${oneByOne('inbox', 'message_id', asked)}))`
const giveBackKeys = `
  delete from onceward.business_key where ctid = any (array(select ctid from ${oneByOne('business_key', 'key', asked)}))`
const change = `
  update onceward.inbox set status = $3::onceward.marker_status, because = $4::jsonb ->> message_id
  where ctid = any (array(select ctid from ${oneByOne('inbox', 'message_id', asked)}))`

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
