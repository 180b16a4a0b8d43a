import assert from 'node:assert/strict'
import type { SqlPool } from '../../src/drivers/postgres/pool.ts'
import { createRelay, type Relay } from '../../src/effects/publish/relay.ts'
import type { RelayOptions } from '../../src/effects/publish/relay-options.ts'
import type { OutgoingMessage, Publisher } from '../../src/ports/publisher.ts'
import { realEnvironment } from '../../src/runtime/real-environment.ts'
import { type Child, openScene, startChild } from './scene.ts'

export interface Arrival {
  readonly relay: string
  readonly queue: string
  readonly key: string | null
  readonly id: string
}

/** A broker whose book is a table of all messages it received, in order, from any relay. */
export const arrivalTable = `
  create table arrival (n bigint generated always as identity, relay text, queue text, key text, id text)`

export function bookPublisher(pool: SqlPool, relay: string): Publisher {
  return {
    async publish(messages) {
      await pool.query(
        `insert into arrival (relay, queue, key, id)
         select $1, queue, key, id from unnest($2::text[], $3::text[], $4::text[])
           with ordinality as given (queue, key, id, place) order by place`,
        [
          relay,
          messages.map(({ queue }) => queue),
          messages.map(({ key }) => key),
          messages.map(({ messageId }) => messageId),
        ],
      )
      return messages.map(() => 'confirmed')
    },
    close: async () => {},
  }
}

/** Answers as scripted, and stores the messages it received. */
export function scriptedPublisher(
  answer: (message: OutgoingMessage) => 'confirmed' | Error,
): Publisher & { sent: OutgoingMessage[] } {
  const sent: OutgoingMessage[] = []
  return {
    sent,
    publish: async messages => {
      sent.push(...messages)
      return messages.map(answer)
    },
    close: async () => {},
  }
}

/** Takes what it is given and never answers. */
export function silentPublisher(): Publisher & { asked: number } {
  const silent = {
    asked: 0,
    publish: () => {
      silent.asked++
      return new Promise<never>(() => {})
    },
    close: async () => {},
  }
  return silent
}

/**
 * The first copy of each message of a key arrived in the order of the messages' numbers (`<key>-<number>`).
 * Later copies may stand anywhere.
 */
export function assertFirstCopiesInOrder(arrivals: readonly { key: string | null; id: string }[]): void {
  const last = new Map<string, number>()
  const seen = new Set<string>()
  for (const { key, id } of arrivals) {
    if (seen.has(id)) continue
    seen.add(id)
    const number = Number(id.slice(id.lastIndexOf('-') + 1))
    assert.ok(number > (last.get(key!) ?? -1), `${id} came after ${key}-${last.get(key!)}`)
    last.set(key!, number)
  }
}

/** A database with the schema, the book, and relays that end with the test. */
export async function openOutboxScene() {
  const scene = await openScene()
  await scene.pool.query(arrivalTable)
  const relays: Relay[] = []
  const children: Child[] = []
  let brokers = 0
  return {
    ...scene,
    /** Its own kind of broker for each test, so that relays of other tests leave its rows alone. */
    nextBroker: () => `broker_${++brokers}`,
    async put(broker: string, queue: string, rows: readonly { id: string; key?: string | null }[]) {
      await scene.pool.query(
        `insert into onceward.outbox (broker, destination, bucket, queue, message_id, key, headers, properties, body)
         select $1, $1, onceward.outbox_bucket_of(key), $2, id, key, '{"n":1,"trace":{"$bytes":"AAH/"}}', '{"type":"t"}', convert_to(id, 'UTF8')
         from unnest($3::text[], $4::text[]) with ordinality as new (id, key, place) order by place`,
        [broker, queue, rows.map(({ id }) => id), rows.map(({ key = null }) => key)],
      )
    },
    async left(broker: string): Promise<number> {
      const { rows } = await scene.pool.query(
        'select count(*)::int as n from onceward.outbox where destination = $1',
        [broker],
      )
      return rows[0].n
    },
    async arrivals(queue: string): Promise<Arrival[]> {
      const { rows } = await scene.pool.query(
        'select relay, queue, key, id from arrival where queue = $1 order by n',
        [queue],
      )
      return rows
    },
    async start(options: Partial<RelayOptions> & { broker: string }): Promise<Relay> {
      const instance = options.instance ?? `relay ${relays.length}`
      const relay = createRelay({
        pool: scene.pool,
        publisher: bookPublisher(scene.pool, instance),
        env: realEnvironment(),
        instance,
        // Kept on a busy machine; every third of it, when theirs of 1.5 s is over, it looks for what the dead
        // have left.
        leaseMs: 4_500,
        ...options,
      })
      relays.push(relay)
      await relay.start()
      return relay
    },
    spawn(options: Record<string, unknown>): Child {
      const child = startChild({ url: scene.url, part: 'relay', leaseMs: 1_500, ...options })
      children.push(child)
      return child
    },
    async close() {
      for (const relay of relays) relay.leave()
      for (const child of children) child.process.kill('SIGKILL')
      await Promise.allSettled(relays.map(relay => relay.finished))
      await scene.close()
    },
  }
}

export type OutboxScene = Awaited<ReturnType<typeof openOutboxScene>>

/** Rows `<key>-<number>`, keys taking turns. */
export function numbered(keys: number, each: number): { id: string; key: string }[] {
  return Array.from({ length: keys * each }, (_, n) => {
    const key = `k${n % keys}`
    return { key, id: `${key}-${Math.floor(n / keys)}` }
  })
}
