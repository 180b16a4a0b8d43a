import { operationsMutants } from './list/operations.ts'
import { testMutants } from './test-mutants.ts'

await testMutants('operations', operationsMutants)
