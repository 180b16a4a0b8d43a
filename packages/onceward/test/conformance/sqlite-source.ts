// sqlite-source.ts
import { randomUUID } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import type { Delivery, Source } from 'onceward'
import { whenFree } from './sqlite-database.ts'

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
