// sqlite-store.ts
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { type Store, type StoreSession, synchronousHandle } from 'onceward'
import { whenFree } from './sqlite-database.ts'

/** What a handler gets as `tx`. */
export interface SqliteTransaction {
  query(sql: string, ...values: SQLInputValue[]): Record<string, unknown>[]
}

/** The required core of the store port. The connection is the store's own. */
export function sqliteStore(db: DatabaseSync): Store<SqliteTransaction> {
  let tail: Promise<unknown> = Promise.resolve()
  let runs = 0
  return {
    capabilities: { durable: true, shared: true, sql: false, concurrent: true },
    enroll: async facts => ({ consumerId: 0, runId: ++runs, facts }),
    closeRun: async () => {},
    ping: async () => db.exec('select 1'),
    diagnose(error) {
      const code = (error as { errcode?: number } | null | undefined)?.errcode ?? 0
      if (code === 5) return 'contention'
      return [10, 13, 14].includes(code) ? 'unavailable' : 'statement'
    },
    /** One after the other on this connection; `begin immediate` waits for the writers of other connections. */
    transaction({ facts }, work) {
      const turn = tail.then(async () => {
        await whenFree(() => db.exec('begin immediate'))
        const { session, end } = openSession(db, `${facts.name}/${facts.generation}`)
        try {
          const result = await work(session)
          end()
          db.exec('commit')
          return result
        } catch (error) {
          end()
          if (db.isTransaction) db.exec('rollback')
          throw error
        }
      })
      tail = turn.catch(() => {})
      return turn
    },
  }
}

function openSession(db: DatabaseSync, consumer: string) {
  const handles: { revoke(): void }[] = []
  const all = (sql: string, ...values: SQLInputValue[]) => db.prepare(sql).all(consumer, ...values)
  const session: StoreSession<SqliteTransaction> = {
    async insertMarkers(markers, as = 'applied') {
      return markers.map(({ id, digest, formerDigest }) => {
        const added = all(
          'insert into marker values (?, ?, ?, ?) on conflict do nothing returning id',
          id,
          digest,
          as,
        )
        if (added.length === 1) return { kind: 'first' }
        const [marker] = all('select digest, status from marker where consumer = ? and id = ?', id)
        const known = Buffer.from(marker!.digest as Uint8Array)
        const sameDigest = digest.equals(known) || formerDigest?.equals(known) === true
        return { kind: 'seen', status: marker!.status as 'applied', sameDigest }
      })
    },
    handlerTransaction() {
      const handle = synchronousHandle<SqliteTransaction>(send => ({
        query: (sql, ...values) => send(() => db.prepare(sql).all(...values)),
      }))
      handles.push(handle)
      return handle
    },
    async countAttempts(failures) {
      return failures.map(({ id, failureClass, code, place }) => {
        all('insert into attempt values (?, ?, ?, ?, ?)', id, failureClass, code, place)
        const rows = all('select class, code, place from attempt where consumer = ? and id = ?', id)
        const byClass: Record<string, number> = {}
        for (const row of rows) byClass[row.class as string] = (byClass[row.class as string] ?? 0) + 1
        const alike = rows.filter(
          row => row.class === failureClass && row.code === code && row.place === place,
        )
        return { total: rows.length, byClass, same: alike.length }
      })
    },
    async conclude(conclusions) {
      for (const { id, digest, to, claimed, held } of conclusions) {
        if (claimed && id !== null && to === 'retry')
          all('delete from marker where consumer = ? and id = ?', id)
        else if (claimed && id !== null)
          db.prepare('update marker set status = ? where consumer = ? and id = ?').run(to, consumer, id)
        if (held === null) continue
        const { state, attempts, code, reason, headers, properties, body } = held
        const key = JSON.stringify([id, digest.toString('hex')])
        all(
          `insert into held values (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?) on conflict do update set seen = seen + 1`,
          ...[key, id, state, attempts, code, reason, headers, properties, body],
        )
      }
    },
    async parkedTotal() {
      return Number(all(`select count(*) as n from held where consumer = ? and state = 'parked'`)[0]!.n)
    },
  }
  const end = () => {
    for (const handle of handles) handle.revoke()
  }
  return { session, end }
}
