import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import type { SqlClient, SqlPool } from '../../drivers/postgres/pool.ts'
import { compareRows } from '../../drivers/postgres/rebuild/compare-rows.ts'
import { shadowSchema } from '../../drivers/postgres/rebuild/schemas.ts'
import { type Campaign, readCampaign, refused } from '../campaign/campaign.ts'
import { assertAlike } from './carry-properties.ts'
import { assertApart, comparedColumns } from './compared-columns.ts'
import { pairsOf } from './exchange-tables.ts'
import { assertKept, compareGenerated, type GeneratedColumn, keyChanges } from './generated-columns.ts'

/** The result of comparing a live table with the rebuilt one. */
export interface TableComparison {
  readonly table: string
  readonly onlyInLive: number
  readonly onlyInShadow: number
  readonly different: number
  /**
   * Rows that differ only because one side has processed messages that the other has not. Not a difference.
   */
  readonly ahead: number
  /**
   * Of the differences: rows written by a batch that also applied messages which the live consumer has set
   * aside.
   */
  readonly besideSetAside: number
  /** Columns that the database fills, whose values a swap would change without the contract's permission. */
  readonly generated: readonly GeneratedColumn[]
  /** The first differing keys. */
  readonly examples: readonly { readonly how: string; readonly key: Readonly<Record<string, unknown>> }[]
}

/** `liveContinues`: the live consumer may have processed messages that the rebuild has not. */
export async function compareTables(
  client: SqlClient,
  { id, plan }: Campaign,
  { replay }: Consumer<unknown, SqlTransaction>,
  liveContinues: boolean,
): Promise<readonly TableComparison[]> {
  const compared: TableComparison[] = []
  for (const table of plan!.tables!) {
    const name = table.split(/\.(.*)/s)[1]!
    const [pair] = await pairsOf(client, [table], shadowSchema(id))
    const { live, other } = pair!
    await assertAlike(client, pair!, what => what.startsWith('column '))
    const columns = await comparedColumns(client, table, replay.compare[name])
    await assertApart(client, table, other, columns.key)
    const rows = await compareRows(client, table, id, columns, liveContinues)
    const { onlyInLive, onlyInShadow, different } = rows
    const generated = [
      ...keyChanges(columns, onlyInLive + onlyInShadow + different),
      ...(await compareGenerated(client, live, other, columns)),
    ]
    compared.push({ table, ...rows, generated })
  }
  return compared
}

/** Compares in one snapshot, without locks, while the live consumer and the rebuild may be running. */
export async function lookAtTables(
  pool: SqlPool,
  id: string,
  consumer: Consumer<unknown, SqlTransaction>,
): Promise<readonly TableComparison[]> {
  const campaign = await readCampaign(pool, id)
  if (campaign.mode !== 'rebuild') throw refused(`Campaign ${id} is not a rebuild.`)
  if (!['paused', 'failed', 'ran', 'verified'].includes(campaign.state))
    throw refused(`Campaign ${id} is ${campaign.state}. It has tables to compare after it has run.`)
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

/** Differences that an operator has accepted, by table name, with a reason. */
export type Accepted = Readonly<Record<string, string>>

export function differs({ onlyInLive, onlyInShadow, different }: TableComparison): boolean {
  return onlyInLive + onlyInShadow + different > 0
}

/**
 * Refuses differing tables that are not accepted, and changed generated values, which only the contract can
 * accept.
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
    `The rebuilt tables differ from the live ones. ${said.join('. ')}. See "onceward replay compare". If the rebuilt rows are right, accept the table by name with a reason (--accept ${nameOf(open[0]!)} --because …).`,
  )
}

function asideText({ besideSetAside }: TableComparison): string {
  if (besideSetAside === 0) return ''
  return ` (${besideSetAside} written together with messages that the live consumer has set aside and the rebuild has applied)`
}

function nameOf({ table }: TableComparison): string {
  return table.slice(table.indexOf('.') + 1)
}
