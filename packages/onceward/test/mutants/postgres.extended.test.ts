import { postgresMutants } from './list/postgres.ts'
import { testMutants } from './test-mutants.ts'

await testMutants('PostgreSQL', postgresMutants)
