import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { factsOf } from '../../src/drivers/postgres/statements/statement-text.ts'

const texts = [
  {
    text: 'update account set total = $1',
    is: { isPlain: true, endsTransaction: false, setsSavepoint: false },
  },
  { text: ' -- a\n/* b */ select 1', is: { isPlain: true, endsTransaction: false, setsSavepoint: false } },
  {
    text: "select set_config('search_path', $1, true)",
    is: { isPlain: false, endsTransaction: false, setsSavepoint: false },
  },
  { text: 'create table t ()', is: { isPlain: false, endsTransaction: false, setsSavepoint: false } },
  { text: '; commit', is: { isPlain: false, endsTransaction: true, setsSavepoint: false } },
  { text: 'savepoint a', is: { isPlain: false, endsTransaction: false, setsSavepoint: true } },
  { text: 'rollback to a', is: { isPlain: false, endsTransaction: false, setsSavepoint: true } },
  // Comments nest: the server reads COMMIT, although the text seems to begin with SELECT.
  { text: '/* /* */ select */ commit', is: { isPlain: true, endsTransaction: true, setsSavepoint: false } },
]

describe('the facts of a statement', () => {
  test('are the same when the text comes again', () => {
    for (const { text, is } of [...texts, ...texts]) assert.deepEqual(factsOf(text), is, text)
  })

  test('are the same after more texts than are remembered', () => {
    for (let n = 0; n < 2_500; n++) factsOf(`select ${n}`)
    for (const { text, is } of texts) assert.deepEqual(factsOf(text), is, text)
  })

  test('are found for a text that is too long to be remembered', () => {
    const long = `select '${'x'.repeat(2_000)}'`
    assert.equal(factsOf(long).isPlain, true)
    assert.equal(factsOf(`commit -- ${long}`).endsTransaction, true)
  })
})
