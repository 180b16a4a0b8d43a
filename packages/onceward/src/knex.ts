export { createKnexStore } from './drivers/postgres/adapters/knex.ts'
