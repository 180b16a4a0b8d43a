import { engineMutants } from './list/engine.ts'
import { testMutants } from './test-mutants.ts'

await testMutants('the engine', engineMutants)
