import type { MarkerStatus } from '../../../ports/markers.ts'
import type { SqlClient } from '../pool.ts'

/**
 * The generation whose tables were swapped in last. Its applied messages have their effect in those tables,
 * although the live marker has another status.
 */
const lastRebuilt = `
  select o.id from onceward.consumer mine
  join onceward.campaign c on c.consumer_name = mine.name and c.live_generation = mine.generation
  join onceward.consumer o on o.name = c.consumer_name and o.generation = c.generation
  where mine.id = $1 and c.mode = 'rebuild' and c.state in ('swapped', 'finished') order by c.swapped_at desc limit 1`

export interface RemovedMarker {
  readonly id: string
  /** The row, as JSON. */
  readonly marker: string
}

/** Removes markers of these statuses, so that their messages can be claimed again. */
export async function removeMarkers(
  client: SqlClient,
  consumerId: number,
  {
    ids,
    statuses,
    ignoredByPeopleOnly,
  }: {
    readonly ids: readonly string[]
    readonly statuses: readonly MarkerStatus[]
    readonly ignoredByPeopleOnly: boolean
  },
): Promise<readonly RemovedMarker[]> {
  const { rows } = await client.query(
    `with rebuilt as materialized (${lastRebuilt}),
     people as materialized (select array[$1::integer] || onceward.other_generations($1) as ids),
     undone as materialized (
       select i.* from unnest($2::text[]) as asked (id) cross join lateral (
         select message_id, ctid as place from onceward.inbox i where i.consumer_id = $1 and i.message_id = asked.id and i.status = any($3::onceward.marker_status[])
           and not (i.status = 'ignored' and $4 and not exists (select from onceward.closed_held x where x.consumer_id = any ((select ids from people)::integer[])
             and x.message_id = i.message_id and onceward.is_given_up(x.closed_as, x.reopened_by) offset 0))
           and not (i.status in ('dead', 'quarantined') and exists (select from onceward.held h where h.consumer_id = $1
             and h.message_id = i.message_id and h.state in ('parked', 'dead', 'quarantined') offset 0))
           and not exists (select from onceward.inbox s where s.consumer_id = (select id from rebuilt)
             and s.message_id = i.message_id and s.status = 'applied' offset 0)
         limit 1 for update) i)
     delete from onceward.inbox where ctid = any (array(select place from undone))
       and consumer_id + 0 = $1 and message_id || '' = any (array(select message_id from undone))
     returning message_id as id, to_jsonb(inbox)::text as marker`,
    [consumerId, ids, statuses, ignoredByPeopleOnly],
  )
  return rows
}

/** A message to be retried gets its former marker back: the campaign may end before the retry. */
const remember =
  'insert into onceward.inbox select * from jsonb_populate_recordset(null::onceward.inbox, $1::jsonb)'

export async function restoreMarkers(client: SqlClient, markers: readonly string[]): Promise<void> {
  await client.query(remember, [`[${markers}]`])
}

/** Whether the generation that was swapped in last has applied any of these. */
export async function anyRebuilt(
  client: SqlClient,
  consumerId: number,
  ids: readonly string[],
): Promise<boolean> {
  const { rows } = await client.query(
    `select from unnest($2::text[]) as asked (id) where exists (select from onceward.inbox s
       where s.consumer_id = (${lastRebuilt}) and s.message_id = asked.id and s.status = 'applied' offset 0)`,
    [consumerId, ids],
  )
  return rows.length > 0
}
