import {
  CompiledQuery,
  type ConnectionProvider,
  type DatabaseConnection,
  type Dialect,
  DummyDriver,
  type Kysely,
  type KyselyPlugin,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryExecutor,
  type QueryId,
  type RootOperationNode,
  Transaction,
} from 'kysely'
import { OncewardError } from '../../../errors.ts'
import type { SqlResult } from '../pool.ts'
import type { SqlPort, WatchedStatements } from '../port.ts'
import { createPortStore } from '../port-store.ts'
import { type AcquiringPool, watchPool } from '../replication.ts'
import type { ClosableStore, TransactionOptions } from '../transaction-options.ts'

/** How the store uses Kysely. */
export interface KyselyStoreOptions extends TransactionOptions {
  /**
   * The `pg` pool of the Kysely dialect. Its connections report a COMMIT that has not reached the synchronous
   * standby, which Kysely does not pass on: without the pool the store refuses a database with such a
   * standby.
   */
  readonly pool?: AcquiringPool
}

/** A store on transactions of Kysely: handlers get a `Transaction<DB>`. */
export function createKyselyStore<DB>(
  db: Kysely<DB>,
  options: KyselyStoreOptions = {},
): ClosableStore<Transaction<DB>> {
  if (!(db.getExecutor().adapter instanceof PostgresAdapter)) {
    throw new OncewardError(
      'configuration',
      'createKyselyStore needs Kysely on PostgreSQL (PostgresDialect). Nothing was started.',
    )
  }
  const port = kyselyPort(db)
  const { pool } = options
  const heard = pool === undefined ? port : hearing(port, pool)
  return { ...createPortStore(heard, options), close: () => db.destroy() }
}

/** Rejects if a connection of the pool was warned that a COMMIT stopped waiting for the standby. */
function hearing<Tx>(port: SqlPort<Tx>, pool: AcquiringPool): SqlPort<Tx> {
  const watch = watchPool(pool)
  async function watched<T>(work: () => Promise<T>): Promise<T> {
    const assertReplicated = watch.begin()
    const acquired = watch.acquired
    const result = await work()
    if (watch.acquired === acquired) throw otherPool()
    assertReplicated()
    return result
  }
  return {
    ...port,
    hearsReplication: true,
    query: (text, values) => watched(() => port.query(text, values)),
    transaction: (isolation, work) => watched(() => port.transaction(isolation, work)),
  }
}

function otherPool(): OncewardError {
  return new OncewardError(
    'configuration',
    'Kysely does not use the pool that was passed to createKyselyStore. Nothing was settled. Pass the pool of the PostgresDialect.',
  )
}

function kyselyPort<DB>(db: Kysely<DB>): SqlPort<Transaction<DB>> {
  return {
    dialect: 'postgres',
    query: (text, values) => run(db, text, values),
    transaction: (isolation, work) =>
      db
        .transaction()
        .setIsolationLevel(isolation)
        .execute(trx =>
          work({
            query: (text, values) => run(trx, text, values),
            handle: statements => handleOn(new WatchedExecutor(trx.getExecutor(), statements)),
          }),
        ),
  }
}

/** Without plugins: a plugin that renames columns would rename those of Onceward. */
async function run<DB>(db: Kysely<DB>, text: string, values: readonly unknown[] = []): Promise<SqlResult> {
  const { rows, numAffectedRows } = await db
    .withoutPlugins()
    .executeQuery(CompiledQuery.raw(text, values as unknown[]))
  return { rows, rowCount: numAffectedRows === undefined ? rows.length : Number(numAffectedRows) }
}

const dialect: Dialect = {
  createAdapter: () => new PostgresAdapter(),
  createDriver: () => new DummyDriver(),
  createIntrospector: db => new PostgresIntrospector(db),
  createQueryCompiler: () => new PostgresQueryCompiler(),
}

/** The executor sends the statements; the driver is never used. */
function handleOn<DB>(executor: QueryExecutor): Transaction<DB> {
  return new Transaction<DB>({ config: { dialect }, dialect, driver: new DummyDriver(), executor })
}

/**
 * The Kysely executor of the transaction with every statement watched, in every copy that a builder makes.
 */
class WatchedExecutor implements QueryExecutor {
  readonly #inner: QueryExecutor
  /**
   * The same on connections that send nothing after the handler has ended: Kysely queues statements before it
   * sends them.
   */
  readonly #sender: QueryExecutor
  readonly #statements: WatchedStatements

  constructor(inner: QueryExecutor, statements: WatchedStatements) {
    this.#inner = inner
    this.#sender = inner.withConnectionProvider({
      provideConnection: (consumer, options) =>
        inner.provideConnection(connection => consumer(leavingBy(connection, statements)), options),
    })
    this.#statements = statements
  }

  get adapter() {
    return this.#inner.adapter
  }

  get plugins() {
    return this.#inner.plugins
  }

  transformQuery<T extends RootOperationNode>(node: T, queryId: QueryId): T {
    return this.#inner.transformQuery(node, queryId)
  }

  compileQuery<R>(node: RootOperationNode, queryId: QueryId): CompiledQuery<R> {
    return this.#inner.compileQuery(node, queryId)
  }

  executeQuery: QueryExecutor['executeQuery'] = (query, options) =>
    this.#statements.watch(query.sql, () => this.#sender.executeQuery(query, options))

  stream: QueryExecutor['stream'] = (query, chunkSize, options) =>
    watchedStream(this.#statements, query.sql, () => this.#sender.stream(query, chunkSize, options))

  provideConnection: ConnectionProvider['provideConnection'] = (consumer, options) =>
    this.#statements.leave('a connection', () =>
      this.#inner.provideConnection(
        connection => consumer(watchedConnection(connection, this.#statements)),
        options,
      ),
    )

  withConnectionProvider(provider: ConnectionProvider): QueryExecutor {
    return this.#watched(this.#inner.withConnectionProvider(provider))
  }

  withPlugin(plugin: KyselyPlugin): QueryExecutor {
    return this.#watched(this.#inner.withPlugin(plugin))
  }

  withPlugins(plugins: readonly KyselyPlugin[]): QueryExecutor {
    return this.#watched(this.#inner.withPlugins(plugins))
  }

  withPluginAtFront(plugin: KyselyPlugin): QueryExecutor {
    return this.#watched(this.#inner.withPluginAtFront(plugin))
  }

  withoutPlugins(): QueryExecutor {
    return this.#watched(this.#inner.withoutPlugins())
  }

  #watched(inner: QueryExecutor): QueryExecutor {
    return new WatchedExecutor(inner, this.#statements)
  }
}

/** The connection for a handler that asks for it. */
function watchedConnection(
  connection: DatabaseConnection,
  statements: WatchedStatements,
): DatabaseConnection {
  return {
    executeQuery: (query, options) =>
      statements.watch(query.sql, () => connection.executeQuery(query, options)),
    streamQuery: (query, chunkSize, options) =>
      watchedStream(statements, query.sql, () => connection.streamQuery(query, chunkSize, options)),
  }
}

/** The connection for watched statements. The other methods are for a statement that its caller aborts. */
function leavingBy(connection: DatabaseConnection, statements: WatchedStatements): DatabaseConnection {
  const { cancelQuery, collectSessionInfo, killSession } = connection
  return {
    executeQuery: (query, options) =>
      statements.leave(query.sql, () => connection.executeQuery(query, options)),
    async *streamQuery(query, chunkSize, options) {
      await statements.leave(query.sql, async () => {})
      yield* connection.streamQuery(query, chunkSize, options)
    },
    ...(cancelQuery && { cancelQuery: cancelQuery.bind(connection) }),
    ...(collectSessionInfo && { collectSessionInfo: collectSessionInfo.bind(connection) }),
    ...(killSession && { killSession: killSession.bind(connection) }),
  }
}

/**
 * One statement from its first row to its end: a stream that is not read to its end is a statement that was
 * not awaited.
 */
async function* watchedStream<T>(
  statements: WatchedStatements,
  text: string,
  open: () => AsyncIterableIterator<T>,
): AsyncIterableIterator<T> {
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
  const rows = open()
  const close = async () => void (await rows.return?.())
  let allowed = false
  const watched = statements.watch(
    text,
    () => {
      allowed = true
      return ended
    },
    () => close().then(resolve, reject),
  )
  if (!allowed) await watched
  try {
    for (;;) {
      const { done, value } = await statements.leave(text, () => rows.next())
      if (done === true) break
      yield value
    }
  } catch (error) {
    reject(error)
    throw error
  } finally {
    await close().then(resolve, reject)
  }
}
