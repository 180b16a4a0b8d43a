import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { skipWithout } from '../services/services.ts'
import { deciderParts, deciders } from './deciders.ts'
import { mutants } from './list/index.ts'
import { misplacedMutants, runMutants } from './run-mutants.ts'
import { mutated } from './scratch-copy.ts'

const root = dirname(dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url))))))
const run = { root, env: process.env, jobs: 2, timeoutMs: 240_000, log: () => {} }

/** The long form is `npm run mutants`. These ten need PostgreSQL alone, and few test files. */
const short = [
  'a conflict is a duplicate',
  'a lane is in two batches',
  'a position moves past unfinished work',
  'aborted records are delivered',
  'the committed offset is one too far',
  'no read-back',
  'the tag of COMMIT is ignored',
  'the fence does not check the epoch',
  'the lease is not checked on finish',
  'results of a lost lease are recorded',
]

describe('mutants', await skipWithout('postgres'), () => {
  test('ten of them are caught by the tests that name them', async () => {
    const chosen = mutants.filter(({ name }) => short.includes(name))
    const report = await runMutants(chosen, run)
    assert.deepEqual(report, { mutants: 10, caught: 10, survivors: [], ok: true })
  })

  test('one that changes nothing survives, and one that does not run is no proof', async () => {
    const [one] = mutants.filter(({ name }) => name === 'a lane is in two batches')
    const same = { ...one!, name: 'same', replacement: `${one!.text} ` }
    const broken = { ...one!, name: 'broken', replacement: 'if (' }
    const { survivors } = await runMutants([same, broken], { ...run, jobs: 1 })
    assert.deepEqual(
      survivors.map(({ name }) => name),
      ['same', 'broken'],
    )
    assert.equal(survivors[0]!.why, 'its test passed')
    assert.match(survivors[1]!.why, /does not run|the file itself/)
  })
})

describe('the list of mutants', () => {
  test('has at least 60, each with a name of its own', () => {
    assert.ok(mutants.length >= 60)
    assert.equal(new Set(mutants.map(({ name }) => name)).size, mutants.length)
  })

  test('every text is in its file exactly once', () => {
    assert.deepEqual(misplacedMutants(mutants, root), [])
  })

  test('every test file that a mutant or a decider names exists', () => {
    const named = [...mutants.map(({ test }) => test), ...deciders.flatMap(({ tests }) => tests)]
    const missing = named.filter(name => !existsSync(join(root, 'packages/onceward/test', `${name}.test.ts`)))
    assert.deepEqual(missing, [])
  })

  test('every decider is in one part of the long form', () => {
    for (const { file } of deciders) {
      const parts = Object.values(deciderParts).filter(words => words.some(word => file.includes(word)))
      assert.equal(parts.length, 1, file)
    }
  })

  test('a mutant whose text is not in its file once is refused', () => {
    const mutant = { ...mutants[0]!, text: 'x', replacement: 'y' }
    assert.equal(mutated('a x b', mutant), 'a y b')
    for (const source of ['a b', 'x x']) assert.throws(() => mutated(source, mutant), /not once/)
  })
})
