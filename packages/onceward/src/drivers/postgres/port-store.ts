import { silent } from '../../environment.ts'
import { OncewardError } from '../../errors.ts'
import type { Enrolment } from '../../ports/enrolment.ts'
import type { Store } from '../../ports/store.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import { endStatements, transactionName } from './end-statements.ts'
import { outsideTransactions, sqlCapabilities } from './outside-transactions.ts'
import type { SqlClient } from './pool.ts'
import type { OpenTransaction, SqlPort } from './port.ts'
import { PortHandlerTransaction } from './port-handler-transaction.ts'
import { ProcessTurns } from './process-turns.ts'
import { waitsForStandby } from './replication.ts'
import { roleSettings } from './role-settings.ts'
import { ServerIncarnation } from './server-incarnation.ts'
import { SqlSession } from './session.ts'
import { proof, serverLimitMs, type TransactionOptions } from './transaction-options.ts'
import { workQueue } from './work-queue.ts'

/**
 * One statement, so that it works over either protocol; local to the transaction, so that it never leaks
 * through pools and PgBouncer.
 */
const settle = `
  select set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true),
    set_config('idle_in_transaction_session_timeout', $2, true), set_config('onceward.run', $3, true),
    ${roleSettings}, ${transactionName}`

/**
 * A store that works in the transactions of another library: markers and writes of the handler commit or roll
 * back together.
 */
export function createPortStore<Tx>(port: SqlPort<Tx>, options: TransactionOptions = {}): Store<Tx> {
  const { lockTimeoutMs = 3_000, isolation = 'read committed', log = silent } = options
  if (port.dialect !== 'postgres') {
    throw new OncewardError(
      'configuration',
      `The store needs PostgreSQL; this library is configured for ${port.dialect}. Nothing was started.`,
    )
  }

  const transactions = new PortTransactions(port, { lockTimeoutMs, isolation, log })
  const outside = outsideTransactions(port, options.environment, new ServerIncarnation(), log)
  return {
    ...outside,
    async enroll(facts) {
      if (port.hearsReplication !== true) await assertNoStandby(port, `select ${waitsForStandby} as waits`)
      return outside.enroll(facts)
    },
    capabilities: { ...sqlCapabilities, concurrent: false },
    transaction: (enrolment, batch) => transactions.run(enrolment, batch),
    work: workQueue((settings, text, values) =>
      port.transaction('read committed', async open => {
        const all = Object.entries({ lock_timeout: '5s', ...settings })
        await open.query(`select ${all.map(([name, value]) => `set_config('${name}', '${value}', true)`)}`)
        return open.query(text, values)
      }),
    ),
  }
}

/** The transactions of batches. */
class PortTransactions<Tx> {
  readonly #port: SqlPort<Tx>
  readonly #options: Required<Pick<TransactionOptions, 'lockTimeoutMs' | 'isolation' | 'log'>>
  readonly #turns = new ProcessTurns(false)

  constructor(
    port: SqlPort<Tx>,
    options: Required<Pick<TransactionOptions, 'lockTimeoutMs' | 'isolation' | 'log'>>,
  ) {
    this.#port = port
    this.#options = options
  }

  /** A failed rollback, or an error that the library rewrites, must not hide why the work failed. */
  async run<T>(enrolment: Enrolment, batch: (session: StoreSession<Tx>) => Promise<T>): Promise<T> {
    let failure: { readonly error: unknown } | undefined
    const [end] = await Promise.allSettled([
      this.#port.transaction(this.#options.isolation, async open => {
        try {
          return await this.#work(open, enrolment, batch)
        } catch (error) {
          failure = { error }
          throw error
        }
      }),
    ])
    if (failure !== undefined || end.status === 'rejected') {
      const error = failure === undefined ? (end as PromiseRejectedResult).reason : failure.error
      this.#turns.failed(error)
      throw error
    }
    this.#turns.committed()
    return end.value
  }

  async #work<T>(
    open: OpenTransaction<Tx>,
    enrolment: Enrolment,
    batch: (session: StoreSession<Tx>) => Promise<T>,
  ): Promise<T> {
    const { facts, runId } = enrolment
    const { lockTimeoutMs, log } = this.#options
    const limitMs = serverLimitMs(facts)
    const handlerTx = (shared: boolean) => new PortHandlerTransaction(open, log, shared)
    const session = new SqlSession(open, enrolment, handlerTx, { turns: this.#turns })
    const { rows } = await open.query(settle, [`${lockTimeoutMs}`, `${limitMs}`, `${runId}`])
    const endHandles = async () => {
      session.end()
      const idle = session.idle()
      if (idle !== null) await endStatements(idle, rows[0], this.#port, limitMs)
    }
    try {
      const result = await batch(session)
      await endHandles()
      await prove(open, this.#port.hearsReplication === true)
      return result
    } finally {
      await endHandles()
    }
  }
}

/**
 * The last statement: libraries do not distinguish a COMMIT that was answered with ROLLBACK from a successful
 * one.
 */
async function prove(open: SqlClient, hearsReplication: boolean): Promise<void> {
  try {
    if (hearsReplication) await open.query(proof)
    else await assertNoStandby(open, `${proof}, ${waitsForStandby} as waits`)
  } catch (cause) {
    if (cause instanceof OncewardError) throw cause
    throw new OncewardError(
      'commit_not_confirmed',
      'The transaction was aborted or ended early. Nothing was committed, nothing will be settled.',
      { cause },
    )
  }
}

/**
 * A standby may be added while consumers run, so this is checked before every COMMIT, in the same statement.
 */
async function assertNoStandby(client: SqlClient, text: string): Promise<void> {
  const { rows } = await client.query(text)
  if (rows[0]?.waits !== true) return
  throw new OncewardError(
    'configuration',
    'The database has a synchronous standby (synchronous_standby_names), and this store cannot receive the warning of a COMMIT that did not reach it: a failover would lose settled messages. Nothing was committed and nothing is lost. With Kysely pass the pool: createKyselyStore(db, { pool }). A custom port sets hearsReplication and uses watchReplication.',
  )
}
