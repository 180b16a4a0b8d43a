import { test } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { throughEverything } from './through-everything.ts'

test(
  'processes join, leave, die, freeze and restart under load: position with the effect',
  {
    timeout: 290_000,
    ...(await skipWithout('postgres', 'kafka')),
  },
  t => throughEverything(t, { memory: 'position with the effect', zombie: 'acts first' }),
)
