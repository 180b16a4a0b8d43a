export { findEmbeddedPostgres } from './find-postgres.ts'
export {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from './start-postgres.ts'
