import type { SqlClient } from '../pool.ts'
import { live } from '../rebuild/generations.ts'
import { type AskedMessage, findGivenUp as findAmong, saidOf, stands } from '../sql/given-up.ts'

/** The live generation, and the one that the campaign rebuilds. $1 is the campaign. */
const own = `array(select o.id from onceward.consumer o join onceward.campaign c on o.name = c.consumer_name
  and o.generation in (c.generation, c.live_generation) where c.id = $1)`

/** Includes the generations that consumed before and beside it. */
const consumers = `(${own} || onceward.other_generations(${live}))`

/**
 * A message that the live generation has applied is in its tables, and belongs into rebuilt ones, although an
 * operator gave it up under another generation.
 */
const unlessApplied = (
  messageId: string,
) => `(x.consumer_id = any (${own}) or not exists (select from onceward.inbox a
  where a.consumer_id = ${live} and a.message_id = ${messageId} and a.status = 'applied' offset 0))`

const find = findAmong(consumers, ['$2', '$3'], unlessApplied('asked.id'))

/** By index of the message: who gave it up, when and why. */
export async function findGivenUpForCampaign(
  client: SqlClient,
  campaignId: string,
  messages: readonly AskedMessage[],
): Promise<ReadonlyMap<number, string>> {
  const values = [campaignId, messages.map(({ id }) => id), messages.map(({ digest }) => digest)]
  return saidOf((await client.query(find, values)).rows)
}

export async function callReopenGivenUp(
  client: SqlClient,
  campaignId: string,
  messages: readonly AskedMessage[],
): Promise<void> {
  await client.query('select onceward.reopen_given_up($1, $2::text[], $3::bytea[])', [
    campaignId,
    messages.map(({ id }) => id),
    messages.map(({ digest }) => digest),
  ])
}

export async function countGivenUpByConsumer(client: SqlClient, campaignId: string): Promise<number> {
  const { rows } = await client.query(
    `select count(*)::integer as messages from onceward.closed_held x where x.consumer_id = any (${consumers}) and ${stands}
       and ${unlessApplied('x.message_id')}`,
    [campaignId],
  )
  return rows[0].messages
}

/**
 * A decision made after the rebuild had applied its message. Without markers, every decision since the
 * campaign's start counts.
 */
const inShadow = `
  select coalesce(x.message_id, 'number ' || x.held_id) as message
  from onceward.campaign c
  join onceward.consumer l on l.name = c.consumer_name and l.generation = c.live_generation
  join onceward.consumer s on s.name = c.consumer_name and s.generation = c.generation
  join onceward.closed_held x on x.consumer_id = any (l.id || onceward.other_generations(l.id))
  where c.id = $1 and x.reopened_by is distinct from c.id and ${stands} and ${unlessApplied('x.message_id')}
    and case when l.dedup = 'marker' then exists (select from onceward.inbox i where i.consumer_id = s.id and i.message_id = x.message_id
        and i.status = 'applied' and i.digest = x.digest offset 0)
      else x.at > c.started_at end
  order by x.held_id`

/** Ids, or the numbers of the rows of messages without an id. */
export async function findGivenUpInShadow(client: SqlClient, campaignId: string): Promise<readonly string[]> {
  const { rows } = await client.query(inShadow, [campaignId])
  return rows.map(row => row.message as string)
}
