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
  createPostgresStore,
  migrate,
  type PostgresStore,
  type PostgresStoreOptions,
} from './stores/postgres/index.ts'
