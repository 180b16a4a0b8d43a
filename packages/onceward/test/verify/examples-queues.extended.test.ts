import { describe } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { examplesSurvive } from './examples.ts'

describe('examples on queues under verification', await skipWithout('postgres'), () =>
  examplesSurvive(['01', '05', '09']),
)
