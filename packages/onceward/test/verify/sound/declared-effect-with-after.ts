import { defineConsumer, projection, type SqlTransaction } from 'onceward'
import { file } from 'onceward/file'
import type { Scene } from './sound.ts'

interface Fact {
  readonly id: string
  readonly order: string
  readonly version: number
  readonly state: string
}

export default defineConsumer<Fact, SqlTransaction>({
  name: 'orders',
  owner: 'sound',
  risk: 'low value',
  source: file('orders.jsonl'),
  identity: { id: m => m.id, aggregateId: m => m.order, aggregateVersion: m => m.version },
  order: 'partition',
  settle: { when: 'with effect' },
  replay: { modes: ['replay', 'rebuild'], tables: ['order_move'] },
  effect: {
    external: { mail: { kind: 'http', url: 'https://mail.example/send', policy: 'at most once' } },
    apply: projection<Fact>({
      table: 'order_state',
      key: { order_id: 'order' },
      version: { version: 'version' },
      columns: { state: 'state' },
      gap: 'accept latest',
      async after({ message, result, tx, effects }) {
        await tx.query('insert into order_move values ($1, $2, $3)', [
          message.id,
          result.from,
          result.version,
        ])
        if (message.state === 'sent')
          effects.external('mail', { key: message.order, body: { id: message.order } })
      },
    }),
  },
})

const fact = (number: number, order: string, version: number, state: string): Fact => ({
  ...{ id: `f-${number}`, order, version, state },
})

export const scene: Scene = {
  unusual: 'a projection with `after` on a log, with positions in the transaction, and rebuilds',
  tables: `
    create table order_state (order_id text primary key, version bigint not null, state text not null);
    create table order_move (id text primary key, before bigint, version bigint not null)`,
  samples: [
    fact(1, 'a', 1, 'open'),
    fact(2, 'b', 1, 'open'),
    fact(3, 'a', 2, 'sent'),
    fact(4, 'b', 2, 'open'),
    fact(5, 'a', 3, 'closed'),
  ],
}
