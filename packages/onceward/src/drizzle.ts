export { createDrizzleStore, type DrizzleTransaction } from './drivers/postgres/adapters/drizzle.ts'
