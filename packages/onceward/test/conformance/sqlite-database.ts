// sqlite-database.ts
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'

const schema = `
  create table if not exists marker (consumer text, id text, digest blob, status text, primary key (consumer, id));
  create table if not exists attempt (consumer text, id text, class text, code text, place text);
  create table if not exists held (consumer text, key text, id text, state text, seen integer, attempts integer,
    code text, reason text, headers text, properties text, body blob, primary key (consumer, key));
  create table if not exists message (id integer primary key autoincrement, queue text, key text, headers text,
    properties text, body blob, taken integer default 0, holder text, until integer default 0);`

export function createTables(db: DatabaseSync): void {
  db.exec(`pragma journal_mode = wal; pragma busy_timeout = 0; ${schema}`)
}

/** SQLite is synchronous and has one writer. Waiting inside it would stop the process, so the wait is here. */
export async function whenFree<T>(run: () => T): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return run()
    } catch (error) {
      if ((error as { errcode?: number }).errcode !== 5 || tries === 2_000) throw error
      await pause(5)
    }
  }
}
