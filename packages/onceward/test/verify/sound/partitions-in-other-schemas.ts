import { defineConsumer, ignore, type SqlTransaction } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import type { Scene } from './sound.ts'

interface Reading {
  readonly id: string
  readonly meter: string
  readonly day: string
  readonly state: 'ok' | 'faulty'
  readonly values: readonly number[]
  readonly raw: string
}

export default defineConsumer<Reading, SqlTransaction>({
  name: 'readings',
  owner: 'sound',
  risk: 'low value',
  source: postgresQueue('sound', { keyOrder: true }),
  identity: { id: m => m.id, orderKey: m => m.meter },
  order: 'key',
  async handle({ message: { id, meter, day, state, values, raw }, tx }) {
    if (state === 'faulty') return ignore('the meter says that it is faulty')
    await tx.query(
      `insert into metering."Reading Of Day" values ($1, $2, $3, $4, decode($5, 'hex'), '{"n": 1.50}')
       on conflict (id, day) do nothing`,
      [id, day, state, values, raw],
    )
    await tx.query(
      `insert into metering.meter (meter, state, last) values ($1, $2, $3)
       on conflict (meter) do update set last = excluded.last, state = excluded.state`,
      [meter, state, values.at(-1)],
    )
    return undefined
  },
})

const reading = (number: number, meter: string, state: Reading['state'] = 'ok', raw = '00ff') => ({
  ...{ id: `r-${number}`, meter, state, raw },
  day: number % 2 === 0 ? '2026-01-31' : '2026-02-01',
  values: [number, number / 3, 1e300],
})

export const scene: Scene = {
  unusual: 'partitioned tables in another schema, an ENUM, arrays, floats, bytes, large messages, verdicts',
  tables: `
    create schema metering;
    create type metering.state as enum ('ok', 'faulty');
    create table metering."Reading Of Day" (id text, day date, state metering.state not null,
      values double precision[] not null, raw bytea not null, more jsonb not null, primary key (id, day))
      partition by range (day);
    create table metering.january partition of metering."Reading Of Day"
      for values from ('2026-01-01') to ('2026-02-01');
    create table metering.later partition of metering."Reading Of Day" default;
    create table metering.meter (meter text primary key, state metering.state not null,
      last double precision, since timestamptz default 'infinity')`,
  samples: [
    reading(1, 'x'),
    reading(2, 'x'),
    reading(3, 'y', 'faulty'),
    reading(4, 'y', 'ok', 'ab'.repeat(150_000)),
    reading(5, 'x'),
  ],
}
