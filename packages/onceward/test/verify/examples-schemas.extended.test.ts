import { describe } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { examplesSurvive } from './examples.ts'

describe('examples with schemas of a registry under verification', await skipWithout('postgres'), () =>
  examplesSurvive(['11']),
)
