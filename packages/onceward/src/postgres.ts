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
} from './drivers/postgres/index.ts'
export {
  createPostgresSource,
  createQueue,
  hint,
  postgresQueue,
  publish,
  queueDepth,
} from './drivers/postgres/queue/index.ts'
