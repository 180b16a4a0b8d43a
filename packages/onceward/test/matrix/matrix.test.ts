import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { createPool, migrate } from 'onceward/postgres'
import { createDatabase, skipWithout } from '../services/services.ts'
import { coveringCombinations, drawnCombinations } from './covering.ts'
import { has, nameOf, pairs } from './dimensions.ts'
import { pairRefusal } from './refusal.ts'
import { runCombination } from './run-combination.ts'

const covering = coveringCombinations()
/** Another seed draws others: they are as good, and a longer run may take many. */
const seed = Number(process.env.ONCEWARD_MATRIX_SEED ?? 1)
const drawn = drawnCombinations(Number(process.env.ONCEWARD_MATRIX_DRAWN ?? 12), seed, covering)

test('every pair of choices is run or refused', () => {
  const open = pairs.filter(pair => pairRefusal(pair) === null && !covering.some(one => has(one, pair)))
  assert.deepEqual(open, [])
})

describe('combinations of mode, source, inbox, failure, dedup, order and store', {
  concurrency: 4,
  ...(await skipWithout('postgres', 'rabbitmq', 'kafka')),
}, async () => {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 8 })
  await migrate(pool)
  await pool.query('insert into onceward.person (role_name) values (session_user)')
  after(async () => {
    await pool.end()
    await database.drop()
  })
  for (const combination of [...covering, ...drawn].filter(one =>
    nameOf(one).includes(process.env.ONLY ?? ''),
  ))
    test(nameOf(combination), t => runCombination(t, combination, { url: database.url, pool }))
})
