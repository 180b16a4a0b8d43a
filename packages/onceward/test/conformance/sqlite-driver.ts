// sqlite-driver.ts
import { randomUUID } from 'node:crypto'
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { type Delivery, type Source, type Store, type StoreSession, synchronousHandle } from 'onceward'

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
async function whenFree<T>(run: () => T): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return run()
    } catch (error) {
      if ((error as { errcode?: number }).errcode !== 5 || tries === 2_000) throw error
      await pause(5)
    }
  }
}

/** Without prototypes: a header named `__proto__` is a header like any other. */
const bare = (text: string) =>
  JSON.parse(text, (_name, value) =>
    Object.prototype.toString.call(value) === '[object Object]' ? Object.setPrototypeOf(value, null) : value,
  )

const leaseMs = 30_000

/** One queue of the table `message`. The connection is the source's own. */
export function sqliteSource(db: DatabaseSync, queue: string): Source {
  const find = db.prepare(
    'select id, length(body) as bytes from message where queue = ? and until < ? order by id limit ?',
  )
  const take = db.prepare(
    'update message set taken = taken + 1, holder = ?, until = ? where id = ? and until < ? returning *',
  )
  const extend = db.prepare('update message set until = ? where holder = ?')
  const release = db.prepare('update message set holder = null, until = 0 where holder = ?')
  const remove = db.prepare('delete from message where id = ? and holder = ?')
  return {
    name: `sqlite queue ${queue}`,
    capabilities: {
      order: { key: false, partition: false },
      positions: false,
      deliveryCount: true,
      redelivers: true,
    },
    async open({ inFlightMax, inFlightBytesMax, onEvent }) {
      const holder = randomUUID()
      const held = new Set<Delivery>()
      let [bytes, closed] = [0, false]
      const lease = setInterval(() => {
        void whenFree(() => extend.run(Date.now() + leaseMs, holder)).catch(() => {})
      }, leaseMs / 3)
      /** As many as fit into both bounds; a message larger than the bound comes alone. */
      const takeSome = (max: number): Delivery[] => {
        const now = Date.now()
        const found: Delivery[] = []
        for (const row of find.all(queue, now, Math.min(max, inFlightMax - held.size))) {
          if (bytes > 0 && bytes + Number(row.bytes) > inFlightBytesMax) break
          const taken = take.get(holder, now + leaseMs, row.id!, now)
          if (taken === undefined) continue
          const delivery = toDelivery(taken)
          held.add(delivery)
          bytes += delivery.body.length
          found.push(delivery)
        }
        return found
      }
      const toDelivery = (row: Record<string, unknown>): Delivery => ({
        body: Buffer.from(row.body as Uint8Array),
        headers: bare(row.headers as string),
        properties: bare(row.properties as string),
        origin: queue,
        position: null,
        partition: '',
        place: null,
        key: row.key as string | null,
        redelivered: Number(row.taken) > 1,
        deliveryCount: Number(row.taken) - 1,
        token: row.id,
      })
      onEvent({ kind: 'connected' })
      return {
        async receive(max) {
          while (!closed) {
            const found = await whenFree(() => (closed ? [] : takeSome(max)))
            if (found.length > 0 && !closed) return found
            await pause(20)
          }
          return []
        },
        async settle(deliveries) {
          let missed = 0
          for (const delivery of deliveries) {
            const id = delivery.token as number
            const removed =
              held.has(delivery) && (await whenFree(() => remove.run(id, holder)).catch(() => null))
            if (!removed || removed.changes === 0) missed++
            if (held.delete(delivery)) bytes -= delivery.body.length
          }
          return { missed }
        },
        isLive: delivery => held.has(delivery),
        async close() {
          if (closed) return
          closed = true
          clearInterval(lease)
          held.clear()
          await whenFree(() => release.run(holder)).catch(() => {})
        },
      }
    },
  }
}

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
