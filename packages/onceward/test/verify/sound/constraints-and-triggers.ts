import { defineConsumer, type SqlTransaction } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import type { Scene } from './sound.ts'

interface Invoice {
  readonly id: string
  readonly customer: string
  readonly lines: readonly number[]
}

export default defineConsumer<Invoice, SqlTransaction>({
  name: 'invoices',
  owner: 'sound',
  risk: 'low value',
  source: postgresQueue('sound'),
  identity: { id: m => m.id },
  async handle({ message: { id, customer, lines }, tx }) {
    // The lines come before their invoice: the constraint is checked at COMMIT.
    for (const [at, amount] of lines.entries())
      await tx.query('insert into line (invoice_id, number, amount) values ($1, $2, $3)', [id, at, amount])
    await tx.query('insert into invoice (id, customer) values ($1, $2)', [id, customer])
  },
})

export const scene: Scene = {
  unusual: 'a deferred constraint, a trigger that keeps totals and times, generated columns',
  tables: `
    create table customer (name text primary key, total bigint not null, changed_at timestamptz);
    create table invoice (id text primary key, customer text not null references customer);
    create table line (
      invoice_id text not null references invoice deferrable initially deferred,
      number integer not null, amount bigint not null,
      with_tax bigint generated always as (amount * 119 / 100) stored, primary key (invoice_id, number));
    create function add_up() returns trigger language plpgsql as $$ begin
      update customer c set changed_at = clock_timestamp(), total = c.total + coalesce(
        (select sum(with_tax) from line where invoice_id = new.id), 0) where c.name = new.customer;
      return null;
    end $$;
    create trigger add_up after insert on invoice for each row execute function add_up();
    insert into customer values ('a', 0), ('b', 0)`,
  samples: [
    { id: 'i-1', customer: 'a', lines: [100, 200] },
    { id: 'i-2', customer: 'a', lines: [300] },
    { id: 'i-3', customer: 'b', lines: [] },
  ],
}
