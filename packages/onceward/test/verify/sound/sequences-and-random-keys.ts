import { randomUUID } from 'node:crypto'
import { defineConsumer, type SqlTransaction } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import type { Scene } from './sound.ts'

interface Signup {
  readonly id: string
  readonly email: string
}

export default defineConsumer<Signup, SqlTransaction>({
  name: 'signups',
  owner: 'sound',
  risk: 'low value',
  source: postgresQueue('sound'),
  identity: { id: m => m.id },
  async handle({ message: { email }, tx }) {
    const person = randomUUID()
    await tx.query('insert into person (id, email, seen_at) values ($1, $2, $3)', [person, email, new Date()])
    const { rows } = await tx.query<{ id: string }>(
      'insert into account (person_id) values ($1) returning id::text',
      [person],
    )
    await tx.query('insert into entry (account_id, text) values ($1, $2)', [rows[0]!.id, 'opened'])
  },
})

export const scene: Scene = {
  unusual: 'keys from sequences, from gen_random_uuid and from randomUUID, and times of both clocks',
  tables: `
    create table person (id uuid primary key, email text not null, seen_at timestamptz not null);
    create table account (id bigint generated always as identity primary key,
      person_id uuid not null references person, opened_at timestamptz not null default now());
    create table entry (id uuid primary key default gen_random_uuid(), number serial,
      account_id bigint not null references account, text text not null)`,
  samples: ['a', 'b', 'c'].map(name => ({ id: `s-${name}`, email: `${name}@shop.example` })),
}
