import { testDeciders } from './test-mutants.ts'

testDeciders('the engine', ['engine/'])
