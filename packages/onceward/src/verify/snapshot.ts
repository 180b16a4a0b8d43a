import type { SqlClient } from '../drivers/postgres/pool.ts'
import {
  type IntentRecord,
  type OutcomeRecord,
  readIntents,
  readOutcomes,
} from '../drivers/postgres/verify/read-records.ts'

export type SnapshotRow = Readonly<Record<string, unknown>>

/** What a run left behind. */
export interface Snapshot {
  /** The user's tables by name, with schema unless it is `public`. */
  readonly tables: ReadonlyMap<string, readonly SnapshotRow[]>
  readonly intents: readonly IntentRecord[]
  readonly outcomes: readonly OutcomeRecord[]
}

interface TableFacts {
  readonly shown: string
  readonly quoted: string
  /** Columns of its primary key and of unique indexes. */
  readonly keys: readonly string[]
}

const tables = `
  select n.nspname as schema, c.relname as name,
    array(select distinct a.attname::text from pg_index i
      join pg_attribute a on a.attrelid = c.oid and a.attnum = any(i.indkey)
      where i.indrelid = c.oid and i.indisunique) as keys,
    format('%I.%I', n.nspname, c.relname) as quoted
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and not c.relispartition
    and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\\_%'
    and n.nspname not like 'onceward%'
  order by 1, 2`

export async function readTables(client: SqlClient): Promise<readonly TableFacts[]> {
  const { rows } = await client.query(tables)
  return rows.map(({ schema, name, keys, quoted }) => ({
    shown: schema === 'public' ? name : `${schema}.${name}`,
    quoted,
    keys,
  }))
}

export async function takeSnapshot(client: SqlClient): Promise<Snapshot> {
  const found = new Map<string, readonly SnapshotRow[]>()
  for (const { shown, quoted } of await readTables(client)) {
    // Each value as text: parsed as a number, one of more than 15 digits would be rounded.
    const { rows } = await client.query(
      `select (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each_text(to_jsonb(t)))::text as row
       from ${quoted} t`,
    )
    found.set(
      shown,
      rows.map(({ row }) => JSON.parse(row)),
    )
  }
  return { tables: found, intents: await readIntents(client), outcomes: await readOutcomes(client) }
}

/** Starts every sequence of the user elsewhere, so that values of sequences can be recognised. */
export async function moveSequences(client: SqlClient): Promise<void> {
  await client.query(`
    select setval(format('%I.%I', schemaname, sequencename)::regclass, base + room.steps * increment_by)
    from (select *, coalesce(last_value, start_value) as base from pg_sequences
          where schemaname not in ('pg_catalog', 'onceward')) s,
      lateral (select max(steps) as steps from (values (7000), (700), (70)) as wanted (steps)
               where base + 2 * wanted.steps * increment_by between min_value and max_value) room
    where room.steps is not null`)
}
