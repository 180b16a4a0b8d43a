import {
  type ConsumerContract,
  defineConsumer,
  type Running,
  runConsumer,
  type SqlTransaction,
} from 'onceward'
import { createPool, migrate } from 'onceward/postgres'
import type { EmbeddedPostgres } from '../../src/runtime/embedded/index.ts'

export interface Fact {
  readonly id: string
}

/** Applies each message to a row of its own, so that one applied twice is seen. */
export function applying(changes: Partial<ConsumerContract<Fact, SqlTransaction>>) {
  return defineConsumer<Fact, SqlTransaction>({
    name: 'applying',
    owner: 'tests',
    risk: 'projection',
    identity: { id: fact => fact.id },
    batch: { sizeMax: 5, deliveriesMax: 20 },
    handle: async ({ message, tx }) => {
      await tx.query(
        'insert into effect (id) values ($1) on conflict (id) do update set times = effect.times + 1',
        [message.id],
      )
    },
    ...changes,
  } as ConsumerContract<Fact, SqlTransaction>)
}

export async function prepare(server: EmbeddedPostgres): Promise<void> {
  const pool = createPool(server.url, { max: 1 })
  await migrate(pool)
  await pool.query('create table effect (id text primary key, times integer not null default 1)')
  await pool.end()
}

/** How many messages have an effect, and how often the most repeated one was applied. */
export const effects = `select count(*)::int || ' of ' || coalesce(max(times), 0) from effect`

export const facts = (prefix: string, count: number): Fact[] =>
  Array.from({ length: count }, (_, n) => ({ id: `${prefix}${n}` }))

/** The code a run ends with. */
export async function endOf(running: Running): Promise<string> {
  return running.finished.then(
    () => 'stopped',
    error => (error as { code?: string }).code ?? String(error),
  )
}

export async function refusalOf(start: Promise<Running>): Promise<string> {
  try {
    const running = await start
    await running.drain()
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
  return 'not refused'
}

export { runConsumer }
