import { describe } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { examplesSurvive } from './examples.ts'

describe('examples with state, windows and slow work under verification', await skipWithout('postgres'), () =>
  examplesSurvive(['04', '06', '08']),
)
