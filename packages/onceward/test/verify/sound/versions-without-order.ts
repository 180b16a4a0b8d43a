import { defineConsumer, type SqlTransaction, stale } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import type { Scene } from './sound.ts'

interface Price {
  readonly id: string
  readonly article: string
  readonly version: number
  readonly cents: string
}

export default defineConsumer<Price, SqlTransaction>({
  name: 'prices',
  owner: 'sound',
  risk: 'low value',
  source: postgresQueue('sound'),
  identity: { id: m => m.id },
  async handle({ message: { article, version, cents }, tx }) {
    const { rowCount } = await tx.query(
      `insert into price as known (article, version, cents) values ($1, $2, $3)
       on conflict (article) do update set version = excluded.version, cents = excluded.cents
       where known.version < excluded.version`,
      [article, version, cents],
    )
    return rowCount === 0 ? stale(`version ${version} is older`) : undefined
  },
})

const price = (number: number, article: string, version: number): Price => ({
  ...{ id: `p-${number}`, article, version, cents: `90071992547409${90 + number}` },
})

export const scene: Scene = {
  unusual: 'no order, a version guard that makes older messages stale, a small sequence that counts down',
  tables: `
    create sequence down increment -1 minvalue -200 maxvalue 50 start 50;
    create table price (article text primary key, version integer not null, cents bigint not null,
      number integer not null default nextval('down'))`,
  samples: [price(1, 'a', 1), price(2, 'b', 1), price(3, 'a', 2), price(4, 'a', 3), price(5, 'b', 2)],
}
