import { defineConsumer, type SqlTransaction } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import type { Scene } from './sound.ts'

interface Transfer {
  readonly id: string
  readonly operation: string
  readonly from: string
  readonly to: string
  readonly amount: number
}

/** Reference rows that never change: a cache of them is no state. */
const rates = new Map<string, number>()

export default defineConsumer<Transfer, SqlTransaction, 'scoring'>({
  name: 'transfers',
  owner: 'sound',
  risk: 'low value',
  source: postgresQueue('sound'),
  identity: { id: m => m.id, businessKey: m => m.operation, businessDigest: m => [m.from, m.to, m.amount] },
  inbox: { mode: 'stored', workers: 4 },
  effect: { external: { scoring: { kind: 'http', url: 'https://scoring.example/score', policy: 'keyed' } } },
  async handle({ message: { operation, from, to, amount }, tx, effects }) {
    if (rates.size === 0) {
      const { rows } = await tx.query<{ name: string; rate: number }>('select name, rate from rate')
      for (const { name, rate } of rows) rates.set(name, rate)
    }
    await effects.call('scoring', { key: operation, body: { amount } })
    // In the order of the message: two transfers may deadlock, and one of them is tried again.
    await tx.query('update account set total = total - $2 where id = $1', [from, amount])
    await tx.query('update account set total = total + $2 where id = $1', [to, amount - rates.get('fee')!])
  },
})

const transfer = (number: number, from: string, to: string): Transfer => ({
  ...{ id: `t-${number}`, operation: `op-${number}`, from, to, amount: 10 * number },
})

export const scene: Scene = {
  unusual: 'stored mode, deadlocks that are retried, a call inside the handler to a keyed target, a cache',
  tables: `
    create table account (id text primary key, total bigint not null);
    create table rate (name text primary key, rate integer not null);
    insert into account values ('a', 0), ('b', 0); insert into rate values ('fee', 1)`,
  samples: [transfer(1, 'a', 'b'), transfer(2, 'b', 'a'), transfer(3, 'a', 'b'), transfer(4, 'b', 'a')],
  more: {
    invariants: { fees: `select sum(total) from account having sum(total) not in (0, -1, -2, -3, -4)` },
  },
}
