import type { Duplex } from 'node:stream'
import type { Knex } from 'knex'
import { OncewardError } from '../../../errors.ts'
import type { SqlClient, SqlResult } from '../pool.ts'
import type { SqlPort, WatchedStatements } from '../port.ts'
import { createPortStore } from '../port-store.ts'
import { watchReplication } from '../replication.ts'
import { PreparePolicy } from '../statements/prepare-policy.ts'
import { StatementSender } from '../statements/statement-sender.ts'
import type { ClosableStore, TransactionOptions } from '../transaction-options.ts'
import { within } from '../within.ts'

/** A store on transactions of Knex: handlers get a `Knex.Transaction`. */
export function createKnexStore(
  knex: Knex,
  options: TransactionOptions = {},
): ClosableStore<Knex.Transaction> {
  if (clientOf(knex).driverName !== 'pg') {
    throw new OncewardError(
      'configuration',
      `createKnexStore needs Knex with client 'pg', this one has ${clientOf(knex).driverName}. Nothing was started.`,
    )
  }
  return {
    ...createPortStore(knexPort(knex, new PreparePolicy(options.prepare)), options),
    close: () => knex.destroy(),
  }
}

/** The part of the Knex client that is used: its connections are clients of `pg`. */
interface KnexClient {
  readonly driverName: string
  acquireConnection(): Promise<Connection>
  releaseConnection(connection: Connection): Promise<void>
  query(connection: SqlClient, statement: Statement): Promise<unknown>
  /** Called by `query` with a statement that is complete. */
  _query(connection: SqlClient, statement: CompleteStatement): Promise<unknown>
  stream(connection: SqlClient, statement: Statement, rows: Duplex, ...rest: unknown[]): Promise<unknown>
}

interface Connection extends SqlClient {
  /** With any value, the connection is closed instead of being reused. */
  __knex__disposed?: unknown
  end(): Promise<void>
}

interface CompleteStatement {
  readonly sql: string
  readonly bindings?: readonly unknown[]
  readonly options?: object
  response?: SqlResult
}

type Statement = string | { readonly sql: string }

const clientOf = (knex: Knex): KnexClient => knex.client

function knexPort(knex: Knex, prepare: PreparePolicy): SqlPort<Knex.Transaction> {
  return {
    dialect: 'postgres',
    hearsReplication: true,
    async query(text, values): Promise<SqlResult> {
      const client = clientOf(knex)
      const connection = await client.acquireConnection()
      const assertReplicated = watchReplication(connection)
      try {
        const result = await connection.query(text, values)
        assertReplicated()
        return result
      } finally {
        await client.releaseConnection(connection)
      }
    },
    async transaction(isolationLevel, work) {
      const client = clientOf(knex)
      const connection = await client.acquireConnection()
      const assertReplicated = watchReplication(connection)
      const sender = new StatementSender(connection, prepare)
      const run = async (trx: Knex.Transaction) => {
        try {
          await prepare.ask(connection)
          sendBy(sender, clientOf(trx))
          return await work({
            // Not through `raw`, which treats every question mark of a text as a placeholder.
            query: (text, values) => sender.query(text, values),
            handle: statements => watchedHandle(trx, statements, sender),
          })
        } finally {
          sender.end()
        }
      }
      try {
        const result = await knex.transaction(run, { isolationLevel, connection })
        assertReplicated()
        return result
      } catch (error) {
        if (!(await inNoTransaction(connection))) destroy(connection, error)
        throw error
      } finally {
        prepare.ended()
        await client.releaseConnection(connection)
      }
    },
  }
}

const rollbackTimeoutMs = 2_000

/** Knex reuses a connection whose ROLLBACK failed, or was not answered within 5 s. */
async function inNoTransaction(connection: SqlClient): Promise<boolean> {
  const asked = connection.query('select now() = statement_timestamp() as none').then(({ rows }) => {
    if (rows[0].none !== true) throw new Error('still in a transaction')
  })
  return within(asked, rollbackTimeoutMs)
}

/**
 * Closed at once: the pool would check the mark only at the next acquire, and locks would stay until then.
 */
function destroy(connection: Connection, because: unknown): void {
  connection.__knex__disposed = because
  connection.end().catch(() => {})
}

/** Operations that would end the transaction, or open one whose statements are not watched. */
const control: ReadonlySet<PropertyKey> = new Set(['commit', 'rollback', 'savepoint'])

/** The same transactor with a watched client: all builders of Knex take it from `context`. */
function watchedHandle(
  trx: Knex.Transaction,
  statements: WatchedStatements,
  sender: StatementSender,
): Knex.Transaction {
  const client = watchedClient(clientOf(trx), statements, sender)
  const { context } = trx as unknown as { context: { queryBuilder(): Knex.QueryBuilder } }
  const watched = Object.create(context, { client: { value: client } }) as typeof context
  return new Proxy(trx, {
    apply: (_target, _this, [table, options]) => watched.queryBuilder().table(table, options),
    get(target, name, receiver) {
      if (name === 'context') return watched
      if (control.has(name)) return () => statements.refuseControl(`trx.${String(name)}()`)
      return Reflect.get(target, name, receiver)
    },
  })
}

function watchedClient(
  client: KnexClient,
  statements: WatchedStatements,
  sender: StatementSender,
): KnexClient {
  const watched: Pick<KnexClient, 'query' | 'stream'> & { transaction(): Promise<never> } = {
    query: (connection, statement) =>
      statements.watch(textOf(statement), () => client.query(connection, statement)),
    stream: (connection, statement, rows, ...rest) =>
      watchedStream(statements, textOf(statement), rows, () => {
        sender.passBy()
        return client.stream(connection, statement, rows, ...rest)
      }),
    // Nested handles are created from the class of the client, which bypasses the watch.
    transaction: () => statements.refuseControl('trx.transaction()'),
  }
  return Object.assign(Object.create(client), watched)
}

/**
 * The client of one transaction sends its statements by `sender`. It is changed in place: the transaction's
 * own `query` calls it, and no object that inherits from it. Statements with options of their own, and those
 * that are not plain, are left to Knex.
 */
function sendBy(sender: StatementSender, client: KnexClient): void {
  const sendAlone = client._query.bind(client)
  client._query = (connection, statement) => {
    const { sql, options } = statement
    if ((options === undefined || Object.keys(options).length === 0) && sender.takes(sql))
      return sendComplete(sender, statement)
    sender.passBy()
    return sendAlone(connection, statement)
  }
}

async function sendComplete(sender: StatementSender, statement: CompleteStatement): Promise<unknown> {
  const { sql: text, bindings: values = [] } = statement
  statement.response = await new Promise<SqlResult>((resolve, reject) => {
    sender.send({ text, values, queryMode: 'extended' }, (error, result) =>
      error === null ? resolve(result!) : reject(error),
    )
  })
  return statement
}

/** Knex reports that all rows were read, but not that the stream was destroyed early. */
async function watchedStream(
  statements: WatchedStatements,
  text: string,
  rows: Duplex,
  open: () => Promise<unknown>,
): Promise<unknown> {
  let allowed = false
  const closed = new Promise(resolve => rows.once('pipe', (source: Duplex) => source.once('close', resolve)))
  const send = () => {
    allowed = true
    return Promise.race([open(), closed])
  }
  const watched = statements.watch(text, send, () => rows.destroy())
  if (!allowed) watched.catch(error => rows.destroy(error))
  return watched
}

const textOf = (statement: Statement): string => (typeof statement === 'string' ? statement : statement.sql)
