import { test } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { throughEverything } from './through-everything.ts'

test(
  'processes join, leave, die, freeze and restart under load: offsets on the broker',
  {
    timeout: 290_000,
    ...(await skipWithout('postgres', 'kafka')),
  },
  t => throughEverything(t, { memory: 'offsets on the broker', zombie: 'learns first' }),
)
