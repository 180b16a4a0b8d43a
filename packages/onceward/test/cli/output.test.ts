import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { oneLine, print, safe } from '../../src/cli/output.ts'
import { table } from '../../src/cli/table.ts'

const hostile = 'a\u001b[2J\u009b31m\u2028b\u202ec\u200bd\ufeff\u{e0041}e'

describe('what commands print', () => {
  test('has no control sequences and no invisible characters', () => {
    assert.equal(safe(`${hostile}\nf`), 'a?b?c?d??e\nf')
    assert.equal(oneLine(`${hostile}\nf`), 'a?b?c?d??e f')
  })

  test('keeps the joiners that words and emoji are spelt with', () => {
    assert.equal(safe('می\u200cخواهم 👩\u200d🔧'), 'می\u200cخواهم 👩\u200d🔧')
  })

  test('is one line for each row of a table', () => {
    assert.equal(table(['id'], [['x\u2028y\nz']]), 'id\nx?y z')
  })

  test('as JSON is plain on a terminal and preserves every value', t => {
    const write = t.mock.method(process.stdout, 'write', () => true)
    print(true, { id: hostile }, () => '')
    const line = String(write.mock.calls[0]!.arguments[0])
    write.mock.restore()
    assert.match(line, /^[\x20-\x7e]*\n$/)
    assert.deepEqual(JSON.parse(line), { id: hostile })
  })
})
