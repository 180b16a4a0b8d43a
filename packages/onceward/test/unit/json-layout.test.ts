import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { diffBodies } from '../../src/operations/parking/diff-bodies.ts'
import { indentJson, layoutJson } from '../../src/operations/parking/json-layout.ts'

const changed = (before: string, after: string) =>
  diffBodies(Buffer.from(before), Buffer.from(after))!
    .filter(({ sign }) => sign !== ' ')
    .map(({ sign, text }) => `${sign}${text}`)

describe('the layout of JSON', () => {
  it('is that of JSON.stringify', () => {
    for (const value of [
      1,
      'a',
      null,
      true,
      [],
      {},
      [[]],
      { a: {} },
      { a: [1, { b: 'x, "y": {' }], c: '\\' },
    ])
      assert.equal(indentJson(JSON.stringify(value)), JSON.stringify(value, null, 2))
  })

  it('keeps numbers, escapes and members that occur twice as they are written', () => {
    const text = '{"id":9007199254740993,"price":10.00,"n":-1.5E+30,"t":"\\u00e9\\/","a":1,"a":2}'
    assert.equal(
      indentJson(text),
      '{\n  "id": 9007199254740993,\n  "price": 10.00,\n  "n": -1.5E+30,\n  "t": "\\u00e9\\/",\n  "a": 1,\n  "a": 2\n}',
    )
  })

  it('has every byte of the text in its parts', () => {
    for (const text of [' { "a" :\r\n[ 1,2 ] }\n', '{ }', '"x"', '  7 ', '[1, [ ], {"b":\t"c"}]'])
      assert.equal(
        layoutJson(text)!
          .map(({ raw }) => raw)
          .join(''),
        text,
      )
  })

  it('leaves other text, and text of absurd depth, as it is', () => {
    for (const text of ['', 'a{b}', '{"a":1', '\ufeff{}', `${'['.repeat(500)}${']'.repeat(500)}`]) {
      assert.equal(layoutJson(text), null)
      assert.equal(indentJson(text), text)
    }
  })

  it('takes a long string of escapes', () => {
    const text = JSON.stringify(['"\\'.repeat(1_000_000)])
    assert.equal(indentJson(text).length, text.length + 4)
  })
})

describe('the difference of two bodies', () => {
  it('has every number, decimal and repeated member that changed', () => {
    assert.deepEqual(changed('{"id":9007199254740993}', '{"id":9007199254740992}'), [
      '-  "id": 9007199254740993',
      '+  "id": 9007199254740992',
    ])
    assert.deepEqual(changed('{"a":10.00,"b":1}', '{"a":10,"b":1}'), ['-  "a": 10.00,', '+  "a": 10,'])
    assert.deepEqual(changed('{"a":1,"a":2}', '{"a":2}'), ['-  "a": 1,'])
  })

  it('shows a change of white space alone', () => {
    assert.deepEqual(changed('{"a":1}', '{"a": 1}'), ['-{"a":1}', '+{"a": 1}'])
    assert.deepEqual(changed('{"a":1}', '{"a":1}'), [])
  })
})
