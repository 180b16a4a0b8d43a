import { effectsMutants } from './list/effects.ts'
import { testMutants } from './test-mutants.ts'

await testMutants('effects', effectsMutants)
