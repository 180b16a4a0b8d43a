import { testDeciders } from './test-mutants.ts'

testDeciders('effects and drivers')
