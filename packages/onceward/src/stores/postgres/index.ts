export { migrate } from './migrate.ts'
export { createPool } from './pool.ts'
export { createPostgresStore, type PostgresStore, type PostgresStoreOptions } from './store.ts'
