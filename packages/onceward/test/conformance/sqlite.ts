import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { HeldRow, SourceFactory, StoreFactory } from 'onceward/testing'
import { createTables } from './sqlite-database.ts'
import { sqliteSource } from './sqlite-source.ts'
import { type SqliteTransaction, sqliteStore } from './sqlite-store.ts'

/** A database file of its own, and connections to it. */
async function openFile() {
  const folder = await mkdtemp(join(tmpdir(), 'onceward-sqlite-'))
  const opened: DatabaseSync[] = []
  const connect = () => {
    const db = new DatabaseSync(join(folder, 'db.sqlite'))
    createTables(db)
    opened.push(db)
    return db
  }
  const close = async () => {
    for (const db of opened) db.close()
    await rm(folder, { recursive: true, force: true })
  }
  return { connect, close }
}

export const sqliteQueue: SourceFactory = {
  without: { 'nested headers': 'this driver keeps headers as JSON, which has no bytes' },
  async create() {
    const { connect, close } = await openFile()
    const outside = connect()
    const add = outside.prepare(
      'insert into message (queue, key, headers, properties, body) values (?, ?, ?, ?, ?)',
    )
    return {
      source: sqliteSource(connect(), 'work'),
      another: () => sqliteSource(connect(), 'work'),
      async publish(messages) {
        for (const { body, key = null, headers = {}, properties = {} } of messages)
          add.run('work', key, JSON.stringify(headers), JSON.stringify(properties), body)
      },
      remaining: async () => Number(outside.prepare('select count(*) as n from message').get()!.n),
      close,
    }
  },
}

export const sqliteStoreFactory: StoreFactory<SqliteTransaction> = {
  without: {
    'concurrent transactions': 'SQLite has one write transaction at a time',
    'failing statements': 'a failed statement does not abort a transaction of SQLite',
  },
  async create() {
    const { connect, close } = await openFile()
    const outside = connect()
    outside.exec('create table effect (key text)')
    const rows = (sql: string, ...values: string[]) => outside.prepare(sql).all(...values)
    return {
      store: sqliteStore(connect()),
      second: sqliteStore(connect()),
      apply: async (tx, key) => void tx.query('insert into effect values (?)', key),
      applied: async () => rows('select key from effect order by rowid').map(row => row.key as string),
      marker: async (consumer, id) =>
        (rows('select status from marker where consumer = ? and id = ?', `${consumer}/1`, id)[0]?.status ??
          null) as 'applied' | null,
      held: async consumer =>
        rows(
          'select id, state, seen, attempts, code, reason, body from held where consumer = ? order by rowid',
          `${consumer}/1`,
        ).map(row => ({
          ...(row as unknown as HeldRow),
          body: Buffer.from(row.body as Uint8Array),
        })),
      attempts: async (consumer, id) =>
        Number(
          rows('select count(*) as n from attempt where consumer = ? and id = ?', `${consumer}/1`, id)[0]!.n,
        ),
      close,
    }
  },
}
