import { describe } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { soundConsumersSurvive } from './sound/sound.ts'

const names = ['batch-handler', 'declared-effect-with-after', 'stored-transfers']

describe('correct consumers with unusual contracts', await skipWithout('postgres'), () =>
  soundConsumersSurvive(names),
)
