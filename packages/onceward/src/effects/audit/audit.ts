import { hash } from 'node:crypto'
import { isRecord, type Report } from '../../contract/check-values.ts'
import type { After, DeclaredEffect, EffectContext } from '../../contract/declared-effect.ts'
import type { BatchItem, SqlTransaction } from '../../contract/handler.ts'
import { consumerName } from '../../drivers/postgres/sql/consumer-name.ts'
import { Verdict } from '../../engine/batch/verdicts.ts'
import { invariant } from '../../errors.ts'
import { afterOf, afterProblems } from '../declared/after.ts'
import {
  columnReader,
  type FieldOf,
  type ItemReader,
  idField,
  readAll,
  textOf,
  unreadableCode,
} from '../declared/fields.ts'
import { checkColumn, checkTable, quoted } from '../declared/names.ts'
import { rerunBatch } from '../declared/rerun.ts'
import { type TableShape, text, verifyTables } from '../declared/tables.ts'

/** What `audit(...)` records for each message. */
export interface AuditDeclaration<M> {
  /** Append-only. If the table is missing, the error at start contains its CREATE TABLE statement. */
  readonly table: string
  /** The identity of the recorded event, independent of the message that carries it. */
  readonly eventId: FieldOf<M, unknown>
  /**
   * Column → recorded value. Together they are the content: the same id with other content is quarantined.
   */
  readonly columns: Readonly<Record<string, FieldOf<M, unknown>>>
  /** Called for each row that was written, in the same transaction: publish, call, write. */
  readonly after?: After<M, AuditResult>
}

/** A row that was written. */
export interface AuditResult {
  readonly eventId: string
}

interface Entry<M> {
  readonly item: BatchItem<M>
  readonly eventId: string
  readonly values: readonly (string | null)[]
  readonly digest: string
}

const entryCodes = ['duplicate_entry', 'entry_conflict'] as const

const ownColumns = ['event_id', 'digest', 'consumer', 'message_id', 'recorded_at']

/** An audit trail: one row per event id, written with the marker, never changed. */
export function audit<M>(declared: AuditDeclaration<M>): DeclaredEffect<M> {
  let ready: { readonly insert: string; readonly read: ItemReader<M, Entry<M>> } | null = null
  return {
    kind: 'audit',
    codes: [...entryCodes, unreadableCode],
    problems() {
      const problems: { place: string; text: string }[] = []
      auditProblems(declared, (place, text) => void problems.push({ place, text }))
      return problems
    },
    traces: () => [
      {
        table: declared.table,
        message: 'message_id',
        key: 'event_id',
        version: null,
        at: 'recorded_at',
        consumer: 'consumer',
        covers: 'all',
        shown: [],
        content: Object.keys(declared.columns),
      },
    ],
    async verify(query) {
      const shape = await verifyAuditTable(declared, query)
      ready = { insert: insertFor(declared, shape), read: entryReader(declared, shape) }
    },
    async apply({ batch, tx, report }: EffectContext<M>) {
      invariant(ready !== null, 'an audit trail is verified before it is written')
      const verdicts = new Map<BatchItem<M>, Verdict>()
      const entries = readAll(batch, ready.read, verdicts)
      if (entries.length > 0) await record(tx, entries, ready.insert, quoted(declared.table), verdicts)
      if (report !== undefined)
        for (const { item, eventId } of entries)
          if (!verdicts.has(item)) report(item, eventId, { eventId } satisfies AuditResult)
      return verdicts
    },
    ...afterOf(declared),
  }
}

/**
 * Inserts the first entry of each id, in sorted order. The other entries are compared with the stored ones.
 */
async function record<M>(
  tx: SqlTransaction,
  entries: readonly Entry<M>[],
  insert: string,
  table: string,
  verdicts: Map<BatchItem<M>, Verdict>,
): Promise<void> {
  const firsts = new Map<string, Entry<M>>()
  for (const entry of entries) if (!firsts.has(entry.eventId)) firsts.set(entry.eventId, entry)
  const sorted = [...firsts.values()].sort((a, b) => (a.eventId < b.eventId ? -1 : 1))
  const { rows } = await tx.query<{ event_id: string }>(insert, [
    sorted.map(entry => entry.eventId),
    sorted.map(entry => entry.digest),
    sorted.map(entry => entry.item.envelope.id),
    ...sorted[0]!.values.map((_, n) => sorted.map(entry => entry.values[n])),
  ])
  if (rows.length === entries.length) return
  const added = new Set(rows.map(row => row.event_id))
  const others = entries.filter(entry => !added.has(entry.eventId) || firsts.get(entry.eventId) !== entry)
  const held = await tx.query<{ event_id: string; digest: string }>(
    `select event_id, encode(digest, 'hex') as digest from ${table} where event_id = any($1::text[])`,
    [others.map(entry => entry.eventId)],
  )
  const digests = new Map(held.rows.map(row => [row.event_id, row.digest]))
  for (const { item, eventId, digest } of others) {
    const known =
      digests.get(eventId) ?? (await rerunBatch(tx, 'an audit row vanished while it was compared'))
    verdicts.set(
      item,
      known === digest
        ? Verdict.duplicate(`${eventId} is recorded already`, 'duplicate_entry')
        : Verdict.quarantine(`${eventId} is recorded already, with other content`, 'entry_conflict'),
    )
  }
}

/** The digest covers the values of the message. The row stores them as its columns represent them. */
function entryReader<M>(declared: AuditDeclaration<M>, shape: TableShape): ItemReader<M, Entry<M>> {
  const columns = Object.entries(declared.columns).map(([column, read]) => {
    const field = `columns.${column}`
    const said = (item: BatchItem<M>) => textOf(read(item.message, item), field)
    const kept = columnReader(read, shape.columns.get(column)!.keeps, field)
    return { column, said, kept }
  })
  return item => ({
    item,
    eventId: idField(declared.eventId(item.message, item), 'eventId'),
    values: columns.map(({ kept }) => kept(item) ?? null),
    digest: hash('sha256', JSON.stringify(columns.map(({ column, said }) => [column, said(item)]))),
  })
}

function insertFor<M>({ table, columns }: AuditDeclaration<M>, shape: TableShape): string {
  const names = Object.keys(columns)
  return `insert into ${quoted(table)} (event_id, digest, consumer, message_id${names.map(name => `, ${quoted(name)}`).join('')})
    select event_id, decode(digest, 'hex'), ${consumerName}, message_id${names
      .map((name, n) => `, value_${n}::${shape.columns.get(name)!.castTo}`)
      .join('')}
    from unnest($1::text[], $2::text[], $3::text[]${names.map((_, n) => `, $${4 + n}::text[]`).join('')})
      as entry (event_id, digest, message_id${names.map((_, n) => `, value_${n}`).join('')})
    on conflict (event_id) do nothing returning event_id`
}

function auditProblems(declared: unknown, wrong: Report): void {
  if (!isRecord(declared)) return wrong('audit', 'must be an object')
  checkTable(declared.table, 'table', wrong)
  if (typeof declared.eventId !== 'function') wrong('eventId', 'must be a function of the message')
  if (!isRecord(declared.columns) || Object.keys(declared.columns).length === 0)
    return wrong('columns', 'must be { column: message => value }: an audit row records what happened')
  for (const [column, read] of Object.entries(declared.columns)) {
    checkColumn(column, `columns.${column}`, wrong)
    if (ownColumns.includes(column)) wrong(`columns.${column}`, 'is filled by the effect')
    if (typeof read !== 'function') wrong(`columns.${column}`, 'must be a function of the message')
  }
  afterProblems(declared.after, wrong)
  for (const field of Object.keys(declared)) {
    if (!['table', 'eventId', 'columns', 'after'].includes(field)) wrong(field, 'is not a known key')
  }
}

async function verifyAuditTable<M>(
  { table, columns }: AuditDeclaration<M>,
  query: SqlTransaction['query'],
): Promise<TableShape> {
  const names = Object.keys(columns)
  const [shape] = await verifyTables('audit', query, [
    {
      place: 'table',
      table,
      columns: {
        event_id: { ...text, notNull: true },
        digest: { type: /^bytea$/, typeText: 'bytea', notNull: true },
        consumer: text,
        message_id: text,
        ...Object.fromEntries(names.map(name => [name, { place: `columns.${name}` }])),
      },
      unique: [['event_id']],
      inserted: true,
      make: `create table ${table} (
  event_id text collate "C" primary key,
  digest bytea not null,
  consumer text not null,
  message_id text not null,
  recorded_at timestamptz not null default now(),
  ${names.map(name => `${name} text`).join(',\n  ')}
)`,
    },
  ])
  return shape!
}
