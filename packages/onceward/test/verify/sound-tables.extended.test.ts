import { describe } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { soundConsumersSurvive } from './sound/sound.ts'

const names = [
  'constraints-and-triggers',
  'partitions-in-other-schemas',
  'sequences-and-random-keys',
  'versions-without-order',
]

describe('correct consumers with unusual tables', await skipWithout('postgres'), () =>
  soundConsumersSurvive(names),
)
