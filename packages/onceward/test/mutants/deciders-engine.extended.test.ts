import { testDeciders } from './test-mutants.ts'

testDeciders('rest of the engine')
