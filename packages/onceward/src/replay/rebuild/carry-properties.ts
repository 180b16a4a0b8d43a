import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { refused } from '../campaign/campaign.ts'
import { tableProperties } from './table-properties.ts'

/**
 * The same table in two schemas, quoted as by `format('%I.%I')`. The table in `schema` is changed to match
 * the other.
 */
export interface Pair {
  readonly live: string
  readonly other: string
  /** The schema of `other`, not quoted. */
  readonly schema: string
}

interface Property {
  readonly turn: number
  readonly what: string
  readonly is: string
  readonly make: string | null
  readonly unmake: string | null
}

interface Difference {
  readonly live: readonly Property[]
  readonly other: readonly Property[]
}

/**
 * The owner first, then properties of the table, then comments and privileges: each step affects the next.
 */
const turns = 3

/** Copies owner, privileges, comments, parameters and statistics from the live table to the other. */
export async function carryProperties(client: SqlClient, pair: Pair): Promise<void> {
  for (let turn = 1; turn <= turns; turn++) {
    const { live, other } = await differenceOf(client, pair)
    const kept = new Set(live.map(({ what }) => what))
    const goes = other.filter(one => isMadeAnew(one.what) || !kept.has(one.what))
    const statements = [
      ...goes.filter(one => one.turn === turn).map(one => one.unmake),
      ...live.filter(one => one.turn === turn).map(one => one.make),
    ]
    for (const statement of statements) if (statement !== null) await client.query(statement)
  }
}

/**
 * These cannot be changed in place: a statistics object has one definition, and repeating a grant does not
 * remove its grant option.
 */
function isMadeAnew(what: string): boolean {
  return what.startsWith('statistics ') || what.startsWith('grant of ')
}

/** Refuses two tables whose catalogue entries differ, and names each difference. */
export async function assertAlike(
  client: SqlClient,
  pair: Pair,
  concerns: (what: string) => boolean = () => true,
): Promise<void> {
  const { live, other } = await differenceOf(client, pair)
  const names = [...new Set([...live, ...other].map(({ what }) => what))].filter(concerns)
  if (names.length === 0) return
  const said = names.map(name => {
    const is = (all: readonly Property[]) =>
      all
        .filter(({ what }) => what === name)
        .map(one => one.is)
        .join('; ')
    return `${name} (live: ${is(live) || 'none'}; rebuilt: ${is(other) || 'none'})`
  })
  throw refused(
    `Tables ${pair.live} and ${pair.other} are not alike: ${said.join(', ')}. Change one of them to match the other.`,
  )
}

async function differenceOf(client: SqlClient, { live, other, schema }: Pair): Promise<Difference> {
  const one = await propertiesOf(client, live, schema)
  const two = await propertiesOf(client, other, schema)
  return { live: without(one, two), other: without(two, one) }
}

function without(all: readonly Property[], known: readonly Property[]): Property[] {
  const keys = new Set(known.map(({ what, is }) => JSON.stringify([what, is])))
  return all.filter(({ what, is }) => !keys.has(JSON.stringify([what, is])))
}

async function propertiesOf(client: SqlClient, quoted: string, schema: string): Promise<Property[]> {
  return (await client.query(tableProperties, [quoted, schema])).rows
}
