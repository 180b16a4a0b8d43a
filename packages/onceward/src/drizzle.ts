export { createDrizzleStore, type DrizzleTransaction } from './stores/postgres/adapters/drizzle.ts'
