export { createKyselyStore, type KyselyStoreOptions } from './drivers/postgres/adapters/kysely.ts'
