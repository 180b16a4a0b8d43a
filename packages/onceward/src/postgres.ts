export {
  createPostgresSource,
  createQueue,
  hint,
  postgresQueue,
  publish,
  queueDepth,
} from './sources/postgres/index.ts'
export {
  createPool,
  createPortStore,
  createPostgresStore,
  migrate,
  type OpenTransaction,
  type PostgresStore,
  type PostgresStoreOptions,
  type SqlPort,
  type TransactionOptions,
  type WatchedStatements,
  watchReplication,
} from './stores/postgres/index.ts'
