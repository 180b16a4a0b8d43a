export { createKnexStore } from './stores/postgres/adapters/knex.ts'
