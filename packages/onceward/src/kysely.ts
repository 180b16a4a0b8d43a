export { createKyselyStore } from './stores/postgres/adapters/kysely.ts'
