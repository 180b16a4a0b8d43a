import type { Conclusion } from '../../../ports/conclusion.ts'
import type { Enrolment } from '../../../ports/enrolment.ts'
import type { SqlClient } from '../pool.ts'
import { holdMessages } from './hold-messages.ts'
import { endKeyWaits, isAwaited } from './key-waits.ts'
import { byKey, isAsked, isKeyed, lookupByKey } from './lookup-by-key.ts'

const asked = 'unnest($2::text[]) as asked (key)'
const found = `ctid = any (array(select ctid from ${lookupByKey('inbox', 'message_id', asked)})) and ${isAsked}`
const giveBack = {
  whole: `delete from onceward.inbox where ${found}`,
  spread: `delete from onceward.inbox using ${byKey(asked)} where ${isKeyed}`,
}
/** Returns the keys that other messages wait for. */
const giveBackKeys = `
  with freed as (
    delete from onceward.business_key
    where ctid = any (array(select ctid from ${lookupByKey('business_key', 'key', asked)})) returning key, message_id)
  select freed.key, freed.message_id as holder from freed where ${isAwaited('freed.key')}`
const changed =
  'update onceward.inbox set status = $3::onceward.marker_status, reason = $4::jsonb ->> message_id'
const change = {
  whole: `${changed} where ${found}`,
  spread: `${changed} from ${byKey(asked)} where ${isKeyed}`,
}

/** Writes every outcome of a batch other than applied: one statement per kind, for any number of messages. */
export async function concludeMessages(
  client: SqlClient,
  enrolment: Enrolment,
  conclusions: readonly Conclusion[],
): Promise<ReadonlySet<Conclusion>> {
  const { consumerId, markersSpread } = enrolment
  const form = markersSpread ? 'spread' : 'whole'
  const claimed = conclusions.filter(conclusion => conclusion.claimed)
  const retried = claimed.filter(conclusion => conclusion.to === 'retry')
  // The statement that holds a message also updates its marker.
  const others = claimed.filter(({ to, held }) => held === null && to !== 'retry' && to !== 'applied')
  const freed = claimed.flatMap(conclusion => conclusion.businessKey ?? [])
  if (retried.length > 0) await client.query(giveBack[form], [consumerId, retried.map(({ id }) => id)])
  if (freed.length > 0) {
    const { rows } = await client.query(giveBackKeys, [consumerId, freed])
    await endKeyWaits(client, consumerId, rows)
  }
  for (const [status, some] of Map.groupBy(others, ({ to }) => to)) {
    const said = Object.fromEntries(some.map(({ id, because }) => [id, because ?? null]))
    await client.query(change[form], [consumerId, some.map(({ id }) => id), status, JSON.stringify(said)])
  }
  return holdMessages(client, enrolment, conclusions)
}
