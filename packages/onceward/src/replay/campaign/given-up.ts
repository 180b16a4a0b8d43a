import type { SqlTransaction } from '../../contract/handler.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'
import {
  findGivenUp as findAmong,
  type GivenUpRow,
  saidOf,
  stands,
} from '../../drivers/postgres/sql/given-up.ts'
import type { DecidedMessage, FindGivenUp, StoreSession } from '../../ports/store.ts'
import { live } from '../rebuild/carry-markers.ts'
import { type Campaign, refused } from './campaign.ts'
import { sqlOf } from './campaign-session.ts'

/** The consumer as it is live, and as the campaign rebuilds it. $1 is the campaign. */
const own = `array(select o.id from onceward.consumer o join onceward.campaign c on o.name = c.consumer_name
  and o.generation in (c.generation, c.live_generation) where c.id = $1)`

/** And the generations that consumed before and beside it. */
const consumers = `(${own} || onceward.other_generations(${live}))`

/**
 * What live has applied, although people gave it up under another generation, is in its tables, and is to be
 * in rebuilt ones.
 */
const unlessApplied = (
  messageId: string,
) => `(x.consumer_id = any (${own}) or not exists (select from onceward.inbox a
  where a.consumer_id = ${live} and a.message_id = ${messageId} and a.status = 'applied' offset 0))`

const find = findAmong(consumers, ['$2', '$3'], unlessApplied('asked.id'))

export function findGivenUp<Tx>(session: StoreSession<Tx>, campaignId: string): FindGivenUp {
  return async messages => {
    const values = [campaignId, messages.map(({ id }) => id), messages.map(({ digest }) => digest)]
    return saidOf((await sqlOf(session).query<GivenUpRow>(find, values)).rows)
  }
}

/** What a campaign that names it has decided anew: from then on the campaign's word counts. */
export async function reopenGivenUp(
  tx: SqlTransaction,
  campaignId: string,
  decided: readonly DecidedMessage[],
): Promise<void> {
  const anew = decided.filter(({ decision }) => !leftAsItWas.has(decision.outcome))
  if (anew.length === 0) return
  await tx.query('select onceward.reopen_given_up($1, $2::text[], $3::bytea[])', [
    campaignId,
    anew.map(({ received }) => received.id),
    anew.map(({ received }) => received.digest),
  ])
}

const leftAsItWas = new Set(['duplicate', 'already held', 'retry'])

/** What people gave up and the campaign leaves out, or takes up where it names it. */
export interface GivenUp {
  /** Of the consumer, whether the selection covers them or not: nobody has read it yet. */
  readonly messages: number
  readonly included: boolean
}

export async function countGivenUp(client: SqlClient, { id, selection }: Campaign): Promise<GivenUp> {
  const { rows } = await client.query(
    `select count(*)::integer as messages from onceward.closed_held x where x.consumer_id = any (${consumers}) and ${stands}
       and ${unlessApplied('x.message_id')}`,
    [id],
  )
  return { messages: rows[0].messages, included: selection.includingSkipped === true }
}

/**
 * A decision that came after the rebuild had applied its message. Where there are no markers, nobody can tell
 * before from after.
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

export async function assertNoneGivenUp(client: SqlClient, { id }: Campaign): Promise<void> {
  const { rows } = await client.query(inShadow, [id])
  if (rows.length === 0) return
  const [messages, are] = rows.length === 1 ? ['message', 'is'] : ['messages', 'are']
  const first = rows.slice(0, 5).map(row => row.message)
  throw refused(
    `${rows.length} ${messages} that people gave up ${are} in the rebuilt tables, or may be: ${first.join(', ')}. The decision came while the rebuild ran. Cancel campaign ${id} and rebuild again: what was given up before is left out.`,
  )
}
