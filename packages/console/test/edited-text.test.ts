import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { maskPayload } from '../src/server/rights/mask-payload.ts'
import { beginEdit, type EditedText, edit, savedText, shownText } from '../src/web/parts/edited-text.ts'

const original = '{"id":9007199254740993,"price":10.00,"a":1,"a":2,"list":[ ],"currency":"USD"}'

/** As a person does it: a change at one place, and then one at another. */
const replaced = (of: EditedText, what: string, by: string) => edit(of, shownText(of).replace(what, by))

describe('a payload in the editor', () => {
  it('is saved as it was, to the byte, if nothing is typed', () => {
    for (const text of [original, ' {"a" : 1}\n', 'plain\r\ntext\r', '{"a":', '']) {
      const begun = beginEdit(text)
      assert.equal(savedText(begun), text)
      assert.ok(!shownText(begun).includes('\r'))
      assert.equal(savedText(edit(begun, shownText(begun))), text)
    }
  })

  it('differs from the original only where something was typed', () => {
    let of = beginEdit(original)
    of = replaced(of, 'USD', 'EUR')
    assert.equal(savedText(of), original.replace('USD', 'EUR'))
    of = replaced(of, '10.00', '12.50')
    assert.equal(savedText(of), original.replace('USD', 'EUR').replace('10.00', '12.50'))
    of = replaced(of, '"a": 1,', '"a": 1,\n  "b": 3,')
    const expected = original.replace('USD', 'EUR').replace('10.00', '12.50')
    assert.equal(savedText(of), expected.replace('"a":1,"a"', '"a":1,"b": 3,\n  "a"'))
    of = replaced(of, ',\n  "b": 3', '')
    assert.equal(JSON.parse(savedText(of)).currency, 'EUR')
    assert.match(savedText(of), /^\{"id":9007199254740993,"price":12\.50,"a":1,/)
  })

  it('takes any change of any part', () => {
    const shown = shownText(beginEdit(original))
    for (let from = 0; from <= shown.length; from += 3)
      for (const length of [0, 1, 4, 30]) {
        const next = `${shown.slice(0, from)}#${shown.slice(from + length)}`
        const saved = savedText(edit(beginEdit(original), next))
        assert.equal(shownText(edit(beginEdit(original), next)), next)
        assert.equal(saved.replaceAll(/\s/g, ''), next.replaceAll(/\s/g, ''))
      }
  })
})

describe('a masked payload', () => {
  it('shows the numbers that are not hidden as they are written', () => {
    const masked = maskPayload('{"id":9007199254740993,"price":10.00,"iban":77}', ['iban'])
    assert.equal(masked, '{\n  "id": 9007199254740993,\n  "price": 10.00,\n  "iban": "••• (number)"\n}')
  })
})
