import type { Mutant } from '../mutant.ts'
import { brokersMutants } from './brokers.ts'
import { effectsMutants } from './effects.ts'
import { engineMutants } from './engine.ts'
import { operationsMutants } from './operations.ts'
import { postgresMutants } from './postgres.ts'

export const mutants: readonly Mutant[] = [
  ...engineMutants,
  ...postgresMutants,
  ...operationsMutants,
  ...effectsMutants,
  ...brokersMutants,
]
