import type { SqlClient } from '../pool.ts'
import { live, shadow } from './generations.ts'
import { quote, shadowSchema } from './schemas.ts'

/** The compared columns of a table. */
export interface ComparedColumns {
  readonly key: readonly string[]
  readonly columns: readonly string[]
  /** Types without a usable equality operator, compared as text. */
  readonly asText: ReadonlySet<string>
  /**
   * Filled by the database with a new value each time (a number, a UUID, a time). A swap must not change
   * them.
   */
  readonly generated: readonly string[]
}

export interface ComparedRows {
  readonly onlyInLive: number
  readonly onlyInShadow: number
  readonly different: number
  readonly ahead: number
  readonly besideSetAside: number
  readonly examples: readonly { readonly how: string; readonly key: Readonly<Record<string, unknown>> }[]
}

const examplesMax = 10

/** A held message has no effect yet. */
const isDecided = `o.status not in ('stored', 'waiting', 'parked', 'dead', 'quarantined')`

/**
 * The live consumer has read the messages it has set aside, and will not process them by itself. If the
 * rebuild has applied one, the difference needs an operator. Counted as a lead of the rebuild, one such
 * message would hide every row of its batch, and a wrong table would be swapped in.
 */
const isReached = `o.status not in ('stored', 'waiting')`
const isSetAside = `o.status in ('parked', 'dead', 'quarantined')`

/**
 * A message m of the shadow without a live marker. Once retention removes markers, a missing marker means
 * nothing, and every difference would look like a lead of the rebuild. Then only messages beyond the live
 * position, or held by the live consumer, are ahead.
 */
const notReached = `(not exists (select from onceward.horizon h where h.consumer_id = ${live})
  or exists (select from onceward.inbox o where o.consumer_id = ${live} and o.message_id = m.message_id)
  or exists (select from onceward.checkpoint c where c.consumer_id = ${live} and c.partition = substring(m.position from '^(.*)@[0-9]+$')
    and case when c.next ~ '^[0-9]+$' then substring(m.position from '@([0-9]+)$')::numeric >= c.next::numeric end))`

/**
 * One statement per table. The last transaction of each row is known, and so is the transaction of each
 * marker. A row is ahead, not wrong, if its transaction wrote a marker that the other side lacks.
 */
function statement(table: string, id: string, { key, columns, asText }: ComparedColumns): string {
  const [schema, name] = table.split(/\.(.*)/s) as [string, string]
  const value = (row: string, column: string) =>
    `${row}.${quote(column)}${asText.has(column) ? '::text' : ''}`
  const both = key.map(column => `l.${quote(column)} = s.${quote(column)}`).join(' and ')
  const differ = columns.map(column => `${value('l', column)} is distinct from ${value('s', column)}`)
  const shown = key.map(
    column => `'${column.replaceAll("'", "''")}', coalesce(l.${quote(column)}, s.${quote(column)})`,
  )
  return `
    with lacking as materialized (
      select m.xmin::text as x from onceward.inbox m where m.consumer_id = ${shadow} and not exists (
        select from onceward.inbox o where o.consumer_id = ${live} and o.message_id = m.message_id and ${isReached}) and ${notReached} group by 1),
    beside as materialized (
      select m.xmin::text as x from onceward.inbox m join onceward.inbox o on o.consumer_id = ${live} and o.message_id = m.message_id
      where m.consumer_id = ${shadow} and ${isSetAside} group by 1),
    missing as materialized (
      select m.xmin::text as x from onceward.inbox m where $2 and m.consumer_id = ${live} and not exists (
        select from onceward.inbox o where o.consumer_id = ${shadow} and o.message_id = m.message_id and ${isDecided}) group by 1),
    found as materialized (
      select jsonb_build_object(${shown.join(', ')}) as key,
        case when s.onceward_there is null then 'only in live' when l.onceward_there is null then 'only in shadow' else 'different' end as how,
        coalesce(s.onceward_x in (select x from lacking), false) or coalesce(l.onceward_x in (select x from missing), false) as ahead,
        coalesce(s.onceward_x in (select x from beside), false) as beside
      from (select *, xmin::text as onceward_x, true as onceward_there from ${quote(schema)}.${quote(name)}) l
      full join (select *, xmin::text as onceward_x, true as onceward_there from ${shadowSchema(id)}.${quote(name)}) s on ${both}
      where ${['l.onceward_there is null', 's.onceward_there is null', ...differ].join(' or ')})
    select count(*) filter (where how = 'only in live' and not ahead)::integer as "onlyInLive",
      count(*) filter (where how = 'only in shadow' and not ahead)::integer as "onlyInShadow",
      count(*) filter (where how = 'different' and not ahead)::integer as different,
      count(*) filter (where ahead)::integer as ahead,
      count(*) filter (where beside and not ahead)::integer as "besideSetAside",
      (select coalesce(jsonb_agg(jsonb_build_object('how', how, 'key', key)), '[]') from (
        select how, key from found where not ahead order by key limit ${examplesMax}) first) as examples
    from found`
}

/** `liveContinues`: the live consumer may have processed messages that the rebuild has not. */
export async function compareRows(
  client: SqlClient,
  table: string,
  campaignId: string,
  columns: ComparedColumns,
  liveContinues: boolean,
): Promise<ComparedRows> {
  const { rows } = await client.query(statement(table, campaignId, columns), [campaignId, liveContinues])
  return rows[0]
}
