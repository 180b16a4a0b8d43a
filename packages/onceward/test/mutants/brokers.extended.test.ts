import { brokersMutants } from './list/brokers.ts'
import { testMutants } from './test-mutants.ts'

await testMutants('the brokers', brokersMutants)
