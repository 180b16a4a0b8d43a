export { createKyselyStore, type KyselyStoreOptions } from './stores/postgres/adapters/kysely.ts'
