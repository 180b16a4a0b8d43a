import type { SqlTransaction } from '../../contract/handler.ts'
import { type Log, silent } from '../../environment.ts'
import { OncewardError } from '../../errors.ts'
import type { Enrolment } from '../../ports/enrolment.ts'
import type { HandlerTransaction } from '../../ports/handler-transaction.ts'
import type { Store } from '../../ports/store.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import { styleOfRole } from './date-style.ts'
import { diagnose } from './diagnose.ts'
import { SqlHandlerTransaction } from './handler-transaction.ts'
import { opening, pipelined } from './in-transaction.ts'
import { outsideTransactions, sqlCapabilities } from './outside-transactions.ts'
import { createPool, type PooledClient, pipelines, type SqlPool, sendTogether } from './pool.ts'
import { ProcessTurns } from './process-turns.ts'
import { watchReplication } from './replication.ts'
import { setRoleSettings } from './role-settings.ts'
import { ServerIncarnation } from './server-incarnation.ts'
import { SqlSession } from './session.ts'
import type { CommitFence } from './sql/advance-partitions.ts'
import { PreparePolicy } from './statements/prepare-policy.ts'
import { StatementSender } from './statements/statement-sender.ts'
import { proof, serverLimitMs, type TransactionOptions } from './transaction-options.ts'
import { within } from './within.ts'
import { workQueue } from './work-queue.ts'

/** How the store uses its pool. */
export interface PostgresStoreOptions extends TransactionOptions {
  /** A connection string, or your own pool (preferably with `pipeline: true`). */
  readonly url?: string
  readonly pool?: SqlPool
}

/** The store on PostgreSQL, through `pg`. */
export interface PostgresStore extends Store<SqlTransaction> {
  readonly pool: SqlPool
  /** Ends the pool, if the store created it. */
  close(): Promise<void>
}

const rollbackTimeoutMs = 2_000

/**
 * A lost connection also fails the statement in progress; without a listener the event would end the process.
 */
const ignoreError = () => {}

/** A store in the transactions of a `pg` pool. */
export function createPostgresStore(options: PostgresStoreOptions): PostgresStore {
  if (options.pool === undefined && options.url === undefined) {
    throw new OncewardError(
      'configuration',
      'createPostgresStore needs a url or a pool. Nothing was started.',
    )
  }
  const incarnation = options.incarnation ?? new ServerIncarnation()
  const pool = options.pool ?? createPool(options.url!, { verify: client => incarnation.check(client) })
  return {
    ...createPooledStore(
      pool,
      { ...options, incarnation },
      (sender, log, shared) => new SqlHandlerTransaction(sender, log, shared),
    ),
    pool,
    async close() {
      if (options.pool === undefined) await pool.end()
    },
  }
}

/** Transactions on clients of a `pg` pool. `makeHandlerTx` creates the `tx` of each handler call. */
export function createPooledStore<Tx>(
  pool: SqlPool,
  options: TransactionOptions,
  makeHandlerTx: (sender: StatementSender, log: Log, shared: boolean) => HandlerTransaction<Tx>,
): Store<Tx> {
  const {
    lockTimeoutMs = 3_000,
    isolation = 'read committed',
    log = silent,
    incarnation = new ServerIncarnation(),
  } = options
  const inPipeline = pipelines(pool)
  const turns = new ProcessTurns(inPipeline)
  const prepare = new PreparePolicy(options.prepare)

  const begin = ({ facts, runId }: Enrolment) => {
    const limitMs = serverLimitMs(facts)
    return `begin isolation level ${isolation};
      ${setRoleSettings};
      set local lock_timeout = ${lockTimeoutMs};
      set local statement_timeout = ${limitMs};
      set local idle_in_transaction_session_timeout = ${limitMs};
      set local onceward.run = ${runId}`
  }

  async function transaction<T>(
    enrolment: Enrolment,
    work: (session: StoreSession<Tx>) => Promise<T>,
  ): Promise<T> {
    const client = await pool.connect()
    const sender = new StatementSender(client, prepare)
    const session = new SqlSession(sender, enrolment, shared => makeHandlerTx(sender, log, shared), {
      fencesWithCommit: inPipeline,
      turns,
    })
    let usable = false
    client.on('error', ignoreError)
    const assertReplicated = watchReplication(client)
    try {
      // Not awaited if markers are inserted: should BEGIN fail alone, the insert finds no onceward.run and
      // fails too. Without markers the statements of the handler come first, and each would commit alone.
      sendTogether(client)
      const begun = client.query(begin(enrolment) + styleOfRole(client) + prepare.question(client))
      begun.then(answer => prepare.answered(client, answer)).catch(() => {})
      if (!inPipeline || enrolment.facts.dedup !== 'marker') await begun
      const result = await work(session)
      await begun
      session.end()
      sender.end()
      await commit(client, inPipeline, session.commitFence)
      assertReplicated()
      usable = true
      turns.committed()
      return result
    } catch (error) {
      turns.failed(error)
      session.end()
      sender.end()
      usable = diagnose(error) !== 'unavailable' && (await rollback(client))
      throw error
    } finally {
      prepare.ended()
      client.removeListener('error', ignoreError)
      client.release(!usable)
    }
  }

  return {
    ...outsideTransactions(pool, options.environment, incarnation, log),
    capabilities: { ...sqlCapabilities, concurrent: inPipeline },
    transaction,
    work: workQueue((settings, ...statement) => pipelined(pool, opening(settings), ...statement)),
  }
}

/**
 * The last statement fails if the transaction was aborted or ended unnoticed; COMMIT would then answer
 * ROLLBACK, or COMMIT, without an error. Both are sent together. If the connection is lost here, the result
 * is unknown, and the error is a connection error: the redelivery finds the marker, or does not.
 */
async function commit(client: PooledClient, inPipeline: boolean, fence: CommitFence | null): Promise<void> {
  sendTogether(client)
  const proving = fence === null ? client.query(proof) : client.query(fence.text, fence.values)
  if (!inPipeline) await proving.catch(() => {})
  const [proven, end] = await Promise.allSettled([proving, client.query('commit')])
  if (end.status === 'rejected') throw end.reason
  if (fence !== null && proven.status === 'rejected') {
    if (movedNothing(proven.reason)) await fence.explain(client)
    throw proven.reason
  }
  if (proven.status === 'rejected' || end.value.command !== 'COMMIT') {
    throw new OncewardError(
      'commit_not_confirmed',
      `COMMIT was answered with ${end.value.command}. Nothing was committed, nothing will be settled.`,
      { cause: proven.status === 'rejected' ? proven.reason : undefined },
    )
  }
}

/** The fence divides by the number of rows it has moved. */
function movedNothing(error: unknown): boolean {
  return (error as { code?: string }).code === '22012'
}

function rollback(client: PooledClient): Promise<boolean> {
  return within(client.query('rollback'), rollbackTimeoutMs)
}
