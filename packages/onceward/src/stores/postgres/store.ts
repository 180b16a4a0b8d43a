import type { SqlTransaction } from '../../contract/contract.ts'
import { keptBesideMarkers } from '../../contracts/kept-beside-markers.ts'
import type { ConsumerFacts, Enrolment, Store, StoreSession } from '../../contracts/store.ts'
import { OncewardError } from '../../errors.ts'
import { type Log, silent } from '../../surroundings.ts'
import { diagnose } from './diagnose.ts'
import { assertUsable } from './migrate.ts'
import { createPool, type SqlClient, type SqlPool, sendTogether } from './pool.ts'
import { SqlSession } from './session.ts'
import { beginPartition, declareLoss, takePartitions } from './sql/own-partitions.ts'
import { workQueue } from './work-queue.ts'

export interface PostgresStoreOptions {
  /** A connection string, or a pool of your own (best made with `pipeline: true`). */
  readonly url?: string
  readonly pool?: SqlPool
  /** Longest wait for a lock, such as a marker another process has not committed. Default 3 s. */
  readonly lockTimeoutMs?: number
  /** Default `read committed`. Stricter levels cost retries, never correctness. */
  readonly isolation?: 'read committed' | 'repeatable read' | 'serializable'
  /** Refuse to work on the database of another environment. Default: ask nothing. */
  readonly environment?: string
  readonly log?: Log
}

export interface PostgresStore extends Store<SqlTransaction> {
  readonly pool: SqlPool
  /** Ends the pool, if the store made it. */
  close(): Promise<void>
}

/** How much longer than a handler the server lets a transaction idle before it ends a frozen process's session. */
const idleMarginMs = 5_000
const rollbackTimeoutMs = 2_000

/** A connection that dies also fails the statement under way; without a listener the event would end the process. */
const heardFromTheStatement = () => {}

export function createPostgresStore(options: PostgresStoreOptions): PostgresStore {
  const { lockTimeoutMs = 3_000, isolation = 'read committed', log = silent } = options
  if (options.pool === undefined && options.url === undefined) {
    throw new OncewardError(
      'configuration',
      'createPostgresStore needs a url or a pool. Nothing was started.',
    )
  }
  const pool = options.pool ?? createPool(options.url!)

  const begin = ({ facts, runId }: Enrolment) => {
    const limitMs = facts.handlerTimeoutMs + idleMarginMs
    return `begin isolation level ${isolation};
      set local lock_timeout = ${lockTimeoutMs};
      set local statement_timeout = ${limitMs};
      set local idle_in_transaction_session_timeout = ${limitMs};
      set local onceward.run = ${runId}`
  }

  async function transaction<T>(
    enrolment: Enrolment,
    work: (session: StoreSession<SqlTransaction>) => Promise<T>,
  ): Promise<T> {
    const client = await pool.connect()
    const session = new SqlSession(client, enrolment, log)
    let usable = false
    client.on('error', heardFromTheStatement)
    try {
      // Not awaited: the claim leaves with it. Should BEGIN fail alone, the claim finds no onceward.run and fails too.
      sendTogether(client)
      const begun = client.query(begin(enrolment))
      begun.catch(() => {})
      const result = await work(session)
      await begun
      session.end()
      await commit(client)
      usable = true
      return result
    } catch (error) {
      session.end()
      usable = diagnose(error) !== 'unavailable' && (await rollback(client))
      throw error
    } finally {
      client.removeListener('error', heardFromTheStatement)
      client.release(!usable)
    }
  }

  return {
    pool,
    capabilities: { durable: true, shared: true, sql: true },
    transaction,
    diagnose,
    async enroll(facts) {
      await assertUsable(pool, options.environment)
      return enroll(pool, facts)
    },
    async closeRun({ runId }) {
      await pool.query('update onceward.run set ended_at = clock_timestamp() where id = $1', [runId])
    },
    takePartitions: (enrolment, partitions) => takePartitions(pool, enrolment, partitions),
    beginPartition: (enrolment, ...where) => beginPartition(pool, enrolment, ...where),
    declareLoss: (enrolment, loss) => declareLoss(pool, enrolment, loss),
    work: workQueue(pool),
    query: async (text, values) => {
      const { rows, rowCount } = await pool.query(text, values as unknown[])
      return { rows, rowCount: rowCount ?? 0 }
    },
    async ping() {
      await pool.query('select 1')
    },
    async close() {
      if (options.pool === undefined) await pool.end()
    },
  }
}

/** Fails in an aborted transaction, in none, and in one that somebody else began: the setting is local to ours. */
const proof = `select current_setting('onceward.run')::integer`

/**
 * The last statement fails if the transaction was aborted or ended behind our back; then COMMIT would answer ROLLBACK, or
 * COMMIT, without an error. Both leave together. When the connection dies here nobody knows the result, and the error says so by being
 * a connection error: the redelivery finds the marker, or does not.
 */
async function commit(client: SqlClient): Promise<void> {
  sendTogether(client)
  const [proven, end] = await Promise.allSettled([client.query(proof), client.query('commit')])
  if (end.status === 'rejected') throw end.reason
  if (proven.status === 'rejected' || end.value.command !== 'COMMIT') {
    throw new OncewardError(
      'commit_not_confirmed',
      `COMMIT was answered with ${end.value.command}. Nothing was committed, nothing will be settled.`,
      { cause: proven.status === 'rejected' ? proven.reason : undefined },
    )
  }
}

async function rollback(client: SqlClient): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const tooLong = new Promise<false>(resolve => {
    timer = setTimeout(resolve, rollbackTimeoutMs, false)
  })
  const done = client.query('rollback').then(
    () => true,
    () => false,
  )
  return Promise.race([done, tooLong]).finally(() => clearTimeout(timer))
}

async function enroll(pool: SqlPool, facts: ConsumerFacts): Promise<Enrolment> {
  const consumer = await pool.query(
    `insert into onceward.consumer as c (name, generation, owner, risk, dedup) values ($1, $2, $3, $4, $5)
     on conflict (name, generation) do update set owner = excluded.owner, risk = excluded.risk,
       dedup = case when excluded.dedup = 'checkpoint' and c.dedup <> 'checkpoint' and exists (
         select from onceward.checkpoint where consumer_id = c.id and next is not null
       ) then c.dedup else excluded.dedup end
     returning id, dedup`,
    [facts.name, facts.generation, facts.owner, facts.risk, facts.dedup],
  )
  if (consumer.rows[0].dedup !== facts.dedup) throw keptBesideMarkers(facts)
  const consumerId = consumer.rows[0].id as number
  const run = await pool.query(
    `insert into onceward.run (consumer_id, instance, handler_version, mode) values ($1, $2, $3, $4) returning id`,
    [consumerId, facts.instance, facts.handlerVersion, facts.mode],
  )
  return { consumerId, runId: run.rows[0].id as number, facts }
}
