import type { Knex } from 'knex'
import { OncewardError } from '../../../errors.ts'
import type { SqlClient, SqlResult } from '../pool.ts'
import type { SqlPort, WatchedStatements } from '../port.ts'
import { createPortStore } from '../port-store.ts'
import { watchReplication } from '../replication.ts'
import type { ClosableStore, TransactionOptions } from '../transaction-options.ts'

/** A store whose transactions are Knex's: handlers get a `Knex.Transaction`. */
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
  return { ...createPortStore(knexPort(knex), options), close: () => knex.destroy() }
}

/** The slice of Knex's client that is used: its connections are clients of `pg`. */
interface KnexClient {
  readonly driverName: string
  acquireConnection(): Promise<SqlClient>
  releaseConnection(connection: SqlClient): Promise<void>
  query(connection: SqlClient, statement: Statement): Promise<unknown>
  stream(connection: SqlClient, statement: Statement, ...rest: unknown[]): Promise<unknown>
}

type Statement = string | { readonly sql: string }

const clientOf = (knex: Knex): KnexClient => knex.client

function knexPort(knex: Knex): SqlPort<Knex.Transaction> {
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
      let assertReplicated = () => {}
      const result = await knex.transaction(
        async trx => {
          // Past `raw`, which would take every question mark of a text for a placeholder.
          const connection = await clientOf(trx).acquireConnection()
          assertReplicated = watchReplication(connection)
          return work({
            query: (text, values) => connection.query(text, values),
            handle: statements => watchedHandle(trx, statements),
          })
        },
        { isolationLevel },
      )
      assertReplicated()
      return result
    },
  }
}

/** What would end the transaction, or open one whose statements nobody sees. */
const control: ReadonlySet<PropertyKey> = new Set(['commit', 'rollback', 'savepoint'])

/** The same transactor, whose builders find a watched client: everything Knex makes takes it from `context`. */
function watchedHandle(trx: Knex.Transaction, statements: WatchedStatements): Knex.Transaction {
  const client = watchedClient(clientOf(trx), statements)
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

function watchedClient(client: KnexClient, statements: WatchedStatements): KnexClient {
  const watched: Pick<KnexClient, 'query' | 'stream'> & { transaction(): Promise<never> } = {
    query: (connection, statement) =>
      statements.watch(textOf(statement), () => client.query(connection, statement)),
    stream: (connection, statement, ...rest) =>
      statements.watch(textOf(statement), () => client.stream(connection, statement, ...rest)),
    // Nested handles are made from the class of the client, past any watch.
    transaction: () => statements.refuseControl('trx.transaction()'),
  }
  return Object.assign(Object.create(client), watched)
}

const textOf = (statement: Statement): string => (typeof statement === 'string' ? statement : statement.sql)
