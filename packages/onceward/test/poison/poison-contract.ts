import type { ConsumerContract, SourceDeclaration, SqlTransaction } from 'onceward'
import type { BrokerUrls } from '../crash/brokers.ts'
import { type Death, die } from './death.ts'

/** What a parent tells a process that is going to die. */
export interface VictimOrders {
  readonly databaseUrl: string
  readonly urls: BrokerUrls
  readonly declaration: SourceDeclaration
  readonly killer: { readonly id: string; readonly how: Death }
  readonly stored: boolean
  /** It dies as soon as it reads the killer, and not in the handler. */
  readonly reading?: boolean
}

export interface Payment {
  readonly id: string
}

export const attemptsMax = 3
/** A group has at most 64 suspects, so the cause is alone after 6 deaths. */
export const restartsMax = attemptsMax + Math.log2(64) + 1
export const consumerName = 'payments'

export const tables = 'create table effect (id text primary key, times integer not null)'

export function poisonContract(
  orders: Pick<VictimOrders, 'declaration' | 'killer' | 'stored' | 'reading'>,
): ConsumerContract<Payment, SqlTransaction> {
  const { killer } = orders
  return {
    name: consumerName,
    owner: 'tests',
    risk: 'money',
    source: orders.declaration,
    identity: {
      id(m) {
        if (orders.reading && m.id === killer.id) die(killer.how)
        return m.id
      },
    },
    failure: { attemptsMax },
    ...(orders.stored && { inbox: { mode: 'stored', leaseMs: 1_000 } }),
    async handle({ message, tx }) {
      await tx.query(
        'insert into effect (id, times) values ($1, 1) on conflict (id) do update set times = effect.times + 1',
        [message.id],
      )
      if (message.id === killer.id) die(killer.how)
    },
  }
}
