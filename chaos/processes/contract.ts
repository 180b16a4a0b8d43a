import { setTimeout as wait } from 'node:timers/promises'
import type { PublishTarget } from 'onceward'
import {
  type ConsumerContract,
  defineConsumer,
  reject,
  type SourceDeclaration,
  type SqlTransaction,
} from 'onceward'
import { topic } from 'onceward/kafka'
import { postgresQueue } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { stream } from 'onceward/rabbitmq-stream'
import { type ChaosSettings, consumerName, readSettings, type WorkMode } from './settings.ts'

interface Request {
  readonly id: string
  readonly request: string
  readonly key: string
  readonly sequence: number
  readonly amount: number
  readonly work: 'apply' | 'failing' | 'rejected'
}

/**
 * Deliberately without a unique key, and with an increment: a message applied twice leaves a second row and a
 * wrong sum. `mended` lists the messages that no longer fail.
 */
export const businessTables = (tablespace: string | null) => {
  const place = tablespace === null ? '' : ` tablespace ${tablespace}`
  return `
  create table application (
    place bigint generated always as identity, message_id text not null, request text not null,
    key text not null, sequence integer not null, amount integer not null, instance text not null,
    filler text not null default repeat('x', 400))${place};
  create table total (key text primary key, amount bigint not null, times integer not null) with (fillfactor = 50)${place};
  create table mended (message_id text primary key)`
}

const modes: Record<WorkMode, Partial<ConsumerContract>> = {
  inline: { inbox: { leaseMs: 2_000 } },
  deferred: { inbox: { leaseMs: 2_000 } },
  stored: { inbox: { mode: 'stored', leaseMs: 2_000, workers: 2 } },
}

/** The consumer of every cell. It has no code for faults. */
export function chaosConsumer(settings: ChaosSettings, instance: string) {
  return defineConsumer<Request, SqlTransaction, 'gateway', 'applied'>({
    name: consumerName,
    owner: 'chaos',
    risk: 'projection',
    source: sourceOf(settings, instance),
    order: 'key',
    identity: {
      id: m => m.id,
      idTime: 'uuidv7',
      orderKey: m => m.key,
      businessKey: m => m.request,
      businessDigest: m => [m.key, m.sequence, m.amount],
    },
    ...(modes[settings.mode] as object),
    effect: {
      publish: { applied: targetOf(settings) },
      external: {
        gateway: {
          url: `http://127.0.0.1:${settings.gatewayPort}/charges`,
          allowPrivate: true,
          timeoutMs: 1_000,
          retryDelayMs: 100,
          retryDelayMaxMs: 1_000,
          attemptsMax: 200,
          breaker: { failuresMax: 50, pauseMs: 500 },
        },
      },
    },
    failure: {
      delayMs: 20,
      delayMaxMs: 50,
      brake: false,
      ...(settings.mode === 'deferred' && { mode: 'defer' }),
      deadLetter: settings.deadLetters,
    },
    batch: { sizeMax: 50, deliveriesMax: 200, handlerTimeoutMs: 5_000 },
    retention: { markers: '30d', sourceKeeps: '14d', partitions: 'daily' },
    async handle({ message, tx, effects }) {
      if (message.work === 'rejected') return reject('not acceptable')
      await wait(1)
      await tx.query(
        'insert into application (message_id, request, key, sequence, amount, instance) values ($1, $2, $3, $4, $5, $6)',
        [message.id, message.request, message.key, message.sequence, message.amount, instance],
      )
      await tx.query(
        `insert into total values ($1, $2, 1)
         on conflict (key) do update set amount = total.amount + excluded.amount, times = total.times + 1`,
        [message.key, message.amount],
      )
      if (message.work === 'failing' && !(await isMended(tx, message.id))) throw new Error('not mended yet')
      const { id, request, key, amount } = message
      effects.external('gateway', { key: request, body: { id, request, amount } })
      effects.publish('applied', { key, body: { id, request } })
      return undefined
    },
  })
}

async function isMended(tx: SqlTransaction, id: string): Promise<boolean> {
  const { rows } = await tx.query('select from mended where message_id = $1', [id])
  return rows.length > 0
}

function sourceOf({ cell, source }: ChaosSettings, instance: string): SourceDeclaration {
  switch (cell.source) {
    case 'postgres':
      return { ...postgresQueue(source, { keyOrder: true, leaseMs: 2_000 }) }
    case 'quorum':
      return { ...queue(source, { singleActiveConsumer: true }) }
    case 'stream':
      return { ...stream(source, { superStream: true, start: 'first' }) }
    case 'kafka':
      // A static member name returns the partitions to a killed process as soon as it restarts.
      return { ...topic(source, { group: source, instance, start: 'earliest', sessionTimeoutMs: 6_000 }) }
  }
}

function targetOf({ cell, output }: ChaosSettings): PublishTarget {
  switch (cell.source) {
    case 'postgres':
      return { broker: 'postgres', queue: output }
    case 'quorum':
    case 'stream':
      return { broker: 'rabbitmq', queue: output }
    case 'kafka':
      return { broker: 'kafka', topic: output }
  }
}

/** For the commands of operators. */
export default process.env.ONCEWARD_CHAOS === undefined
  ? undefined
  : chaosConsumer(readSettings(), process.env.ONCEWARD_CHAOS_INSTANCE ?? 'operator')
