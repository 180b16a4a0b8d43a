import type { Enrolment } from '../../../ports/enrolment.ts'
import type { SqlClient } from '../pool.ts'
import { isoTime } from './iso-time.ts'

/** A message that an operator may have given up. */
export interface AskedMessage {
  readonly id: string | null
  readonly digest: Buffer
}

/** For a row of `onceward.closed_held`: the decision is still in force. */
export const stands = 'onceward.is_given_up(x.closed_as, x.reopened_by)'

/**
 * By id and content: other content under the id of an applied message may have been given up alone. If the
 * marker of the id is the decision itself, other content is the same message, digested by a contract that
 * lists other headers. `ids`: the consumers whose decisions count, as an array; `counts`: which of their rows
 * x count for the message `asked`.
 */
export const findGivenUp = (ids: string, [asked, digests]: readonly [string, string], counts = 'true') => `
  with mine as materialized (select ${ids} as ids)
  select asked.n::integer - 1 as n, x.closed_as as how, x.actor, ${isoTime('x.at')} as at, x.reason
  from unnest(${asked}::text[], ${digests}::bytea[]) with ordinality as asked (id, digest, n)
  cross join lateral (
    select * from onceward.closed_held x where x.consumer_id = any ((select ids from mine)::integer[]) and x.message_id = asked.id and ${stands}
      and ${counts} and (x.digest = asked.digest or exists (select from onceward.inbox i where i.consumer_id = x.consumer_id
        and i.message_id = x.message_id and i.status = 'ignored' and i.digest = x.digest offset 0))
    union all
    select * from onceward.closed_held x where x.consumer_id = any ((select ids from mine)::integer[]) and x.message_id is null
      and x.digest = asked.digest and ${stands} and ${counts}
    limit 1) x`

const elsewhere = findGivenUp('onceward.other_generations($1)', ['$2', '$3'])

export async function givenUpElsewhere(
  client: SqlClient,
  { consumerId }: Enrolment,
  messages: readonly AskedMessage[],
): Promise<ReadonlyMap<number, string>> {
  const values = [consumerId, messages.map(({ id }) => id), messages.map(({ digest }) => digest)]
  return saidOf((await client.query(elsewhere, values)).rows as GivenUpRow[])
}

export interface GivenUpRow {
  readonly n: number
  readonly how: string
  readonly actor: string
  readonly at: string
  readonly reason: string
}

/** By index among the messages, as text for operators. */
export function saidOf(rows: readonly GivenUpRow[]): ReadonlyMap<number, string> {
  return new Map(
    rows.map(({ n, how, actor, at, reason }) => [n, `${how} by ${actor} on ${at}: ${reason}`.slice(0, 500)]),
  )
}
