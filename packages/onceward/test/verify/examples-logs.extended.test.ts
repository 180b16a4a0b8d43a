import { describe } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { examplesSurvive } from './examples.ts'

describe('examples on logs under verification', await skipWithout('postgres'), () =>
  examplesSurvive(['02', '03', '07']),
)
