import { type ConsumerContract, defineConsumer, type SqlTransaction } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import type { VerifyOptions } from 'onceward/testing'

export interface Payment {
  readonly id: string
  readonly account: string
  readonly amount: number
  readonly version: number
}

/** What the gallery says about one broken consumer. */
export interface Exhibit {
  /** The mistake, as the documents warn of it. */
  readonly mistake: string
  readonly tables: string
  readonly samples: readonly unknown[]
  /** The classes that are enough to find it. */
  readonly only: NonNullable<VerifyOptions['only']>
  /** The sentence that must be printed. */
  readonly says?: RegExp
  /** The same for what is reported, but is no failure under a marker. */
  readonly warns?: RegExp
  readonly more?: Partial<VerifyOptions>
}

type Handle = NonNullable<ConsumerContract<Payment, SqlTransaction>['handle']>

/** A contract around a handler with one mistake. */
export function broken(
  name: string,
  handle: Handle,
  changes: Partial<ConsumerContract<Payment, SqlTransaction>> = {},
) {
  return defineConsumer<Payment, SqlTransaction>({
    name,
    owner: 'gallery',
    risk: 'low value',
    source: postgresQueue('gallery'),
    identity: { id: m => m.id },
    handle,
    ...changes,
  })
}

export const balances = `
  create table balance (account text primary key, total bigint not null, version bigint not null default 0);
  create table booking (id text primary key, account text not null, amount bigint not null);
  insert into balance values ('a', 0), ('b', 0)`

export const payment = (number: number, account = 'a', version = number): Payment => ({
  id: `p-${number}`,
  account,
  amount: 10 * number,
  version,
})

export const payments = [payment(1), payment(2), payment(3)]
