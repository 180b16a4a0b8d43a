import type { SqlTransaction } from '../contract/handler.ts'
import type { DecidedMessage, StoreSession } from '../contracts/store.ts'
import type { SqlClient } from '../stores/postgres/pool.ts'
import { isoTime } from '../stores/postgres/sql/iso-time.ts'
import { type Campaign, refused } from './campaign.ts'
import { sqlOf } from './campaign-session.ts'

/** The consumer as it is live, and as the campaign rebuilds it. $1 is the campaign. */
const consumers = `array(select o.id from onceward.consumer o join onceward.campaign c on o.name = c.consumer_name
  and o.generation in (c.generation, c.live_generation) where c.id = $1)`

const stands = 'onceward.is_given_up(x.how, x.reopened_by)'

/**
 * By id and content: other content under the id of an applied message may have been given up alone. Where the marker of the id is the decision
 * itself, other content is the same message, digested by a contract that lists other headers.
 */
const find = `
  with mine as materialized (select ${consumers} as ids)
  select asked.n::integer - 1 as n, x.how, x.actor, ${isoTime('x.at')} as at, x.reason
  from unnest($2::text[], $3::bytea[]) with ordinality as asked (id, digest, n)
  cross join lateral (
    select * from onceward.closed_held x where x.consumer_id = any ((select ids from mine)::integer[]) and x.message_id = asked.id and ${stands}
      and (x.digest = asked.digest or exists (select from onceward.inbox i where i.consumer_id = x.consumer_id
        and i.message_id = x.message_id and i.status = 'ignored' and i.digest = x.digest offset 0))
    union all
    select * from onceward.closed_held x where x.consumer_id = any ((select ids from mine)::integer[]) and x.message_id is null
      and x.digest = asked.digest and ${stands}
    limit 1) x`

export function findGivenUp<Tx>(
  session: StoreSession<Tx>,
  campaignId: string,
): NonNullable<StoreSession<Tx>['givenUp']> {
  return async messages => {
    const { rows } = await sqlOf(session).query<{
      n: number
      how: string
      actor: string
      at: string
      reason: string
    }>(find, [campaignId, messages.map(({ id }) => id), messages.map(({ digest }) => digest)])
    return new Map(
      rows.map(({ n, how, actor, at, reason }) => [
        n,
        `${how} by ${actor} on ${at}: ${reason}`.slice(0, 500),
      ]),
    )
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
    `select count(*)::integer as messages from onceward.closed_held x where x.consumer_id = any (${consumers}) and ${stands}`,
    [id],
  )
  return { messages: rows[0].messages, included: selection.includingSkipped === true }
}

/** A decision that came after the rebuild had applied its message. Where there are no markers, nobody can tell before from after. */
const inShadow = `
  select coalesce(x.message_id, 'number ' || x.held_id) as message
  from onceward.campaign c
  join onceward.consumer l on l.name = c.consumer_name and l.generation = c.live_generation
  join onceward.consumer s on s.name = c.consumer_name and s.generation = c.generation
  join onceward.closed_held x on x.consumer_id = l.id
  where c.id = $1 and x.reopened_by is distinct from c.id and ${stands}
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
