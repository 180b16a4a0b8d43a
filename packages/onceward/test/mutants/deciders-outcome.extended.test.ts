import { testDeciders } from './test-mutants.ts'

testDeciders('outcome')
