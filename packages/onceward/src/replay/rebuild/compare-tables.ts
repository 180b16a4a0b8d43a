import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import type { SqlClient, SqlPool } from '../../drivers/postgres/pool.ts'
import { type Campaign, readCampaign, refused } from '../campaign/campaign.ts'
import { live, shadow } from './carry-markers.ts'
import { assertAlike } from './carry-properties.ts'
import { assertApart, type ComparedColumns, comparedColumns, quote } from './compared-columns.ts'
import { pairsOf } from './exchange-tables.ts'
import { assertKept, compareGenerated, type GeneratedColumn, keyChanges } from './generated-columns.ts'
import { shadowSchema } from './rebuild-store.ts'

/** The rows of a live table beside the rebuilt ones. */
export interface TableComparison {
  readonly table: string
  readonly onlyInLive: number
  readonly onlyInShadow: number
  readonly different: number
  /** Rows that differ because one side has come to messages that the other has not: no finding. */
  readonly ahead: number
  /** Of the differences: rows that a batch wrote which also applied what live has set aside for people. */
  readonly besideSetAside: number
  /** Columns the database fills whose values a swap would change, and the contract does not let it. */
  readonly generated: readonly GeneratedColumn[]
  /** The first keys that differ. */
  readonly examples: readonly { readonly how: string; readonly key: Readonly<Record<string, unknown>> }[]
}

const examplesMax = 10

/** What is held has no effect yet. */
const isDecided = `o.status not in ('stored', 'waiting', 'parked', 'dead', 'quarantined')`

/**
 * Live has come to what it has set aside, and will not by itself come further. Rebuilt it is a difference
 * that a person should see: were it a lead, one such message would hide everything its batch wrote, and a
 * table that is wrong all over would be swapped in.
 */
const isReached = `o.status not in ('stored', 'waiting')`
const isSetAside = `o.status in ('parked', 'dead', 'quarantined')`

/**
 * A message of the shadow, m, whose live marker is not there: where retention removes markers that says
 * nothing, and every difference would pass for a lead of the rebuild. Then only what the live position has
 * not come to, or live holds, is ahead.
 */
const notReached = `(not exists (select from onceward.horizon h where h.consumer_id = ${live})
  or exists (select from onceward.inbox o where o.consumer_id = ${live} and o.message_id = m.message_id)
  or exists (select from onceward.checkpoint c where c.consumer_id = ${live} and c.partition = substring(m.position from '^(.*)@[0-9]+$')
    and case when c.next ~ '^[0-9]+$' then substring(m.position from '@([0-9]+)$')::numeric >= c.next::numeric end))`

/**
 * One statement for a table, however large. Of each row the transaction that wrote it last is known, and so
 * is the one that wrote each marker: a row whose transaction left a marker that the other side lacks is
 * ahead, not wrong.
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

/** `liveGoesOn`: the live consumer may have come to messages the rebuild has not. */
export async function compareTables(
  client: SqlClient,
  { id, plan }: Campaign,
  { replay }: Consumer<unknown, SqlTransaction>,
  liveGoesOn: boolean,
): Promise<readonly TableComparison[]> {
  const compared: TableComparison[] = []
  for (const table of plan!.tables!) {
    const name = table.split(/\.(.*)/s)[1]!
    const [pair] = await pairsOf(client, [table], shadowSchema(id))
    const { live, other } = pair!
    await assertAlike(client, pair!, what => what.startsWith('column '))
    const columns = await comparedColumns(client, table, replay.compare[name])
    await assertApart(client, table, other, columns.key)
    const { rows } = await client.query(statement(table, id, columns), [id, liveGoesOn])
    const { onlyInLive, onlyInShadow, different } = rows[0]
    const generated = [
      ...keyChanges(columns, onlyInLive + onlyInShadow + different),
      ...(await compareGenerated(client, live, other, columns)),
    ]
    compared.push({ table, ...rows[0], generated })
  }
  return compared
}

/** In one snapshot, while the live consumer and perhaps the rebuild go on. Nothing is locked. */
export async function lookAtTables(
  pool: SqlPool,
  id: string,
  consumer: Consumer<unknown, SqlTransaction>,
): Promise<readonly TableComparison[]> {
  const campaign = await readCampaign(pool, id)
  if (campaign.mode !== 'rebuild') throw refused(`Campaign ${id} is no rebuild.`)
  if (!['paused', 'failed', 'ran', 'verified'].includes(campaign.state))
    throw refused(`Campaign ${id} is ${campaign.state}: there are tables to compare once it has run.`)
  const client = await pool.connect()
  try {
    await client.query('begin isolation level repeatable read read only')
    const compared = await compareTables(client, campaign, consumer, true)
    await client.query('commit')
    return compared
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  } finally {
    client.release()
  }
}

/** Differences that a person has accepted, by the table's name and with a reason. */
export type Accepted = Readonly<Record<string, string>>

export function differs({ onlyInLive, onlyInShadow, different }: TableComparison): boolean {
  return onlyInLive + onlyInShadow + different > 0
}

/**
 * Refuses tables that differ and are not accepted, and values of the database that nobody may accept but the
 * contract.
 */
export function assertAccepted(compared: readonly TableComparison[], accepted: Accepted): void {
  assertKept(compared)
  const open = compared.filter(
    one => differs(one) && (accepted[nameOf(one)] ?? accepted[one.table] ?? '').trim() === '',
  )
  if (open.length === 0) return
  const said = open.map(
    one =>
      `${one.table}: ${one.onlyInLive} rows only live, ${one.onlyInShadow} only rebuilt, ${one.different} different${asideText(one)}, such as ${one.examples
        .slice(0, 3)
        .map(({ key }) => JSON.stringify(key))
        .join(', ')}`,
  )
  throw refused(
    `The rebuilt tables are not like the live ones. ${said.join('. ')}. See "onceward replay compare"; if the rebuilt rows are right, accept the table by name with a reason (--accept ${nameOf(open[0]!)} --because …).`,
  )
}

function asideText({ besideSetAside }: TableComparison): string {
  if (besideSetAside === 0) return ''
  return ` (${besideSetAside} written together with messages that live has set aside and the rebuild has applied)`
}

function nameOf({ table }: TableComparison): string {
  return table.slice(table.indexOf('.') + 1)
}
