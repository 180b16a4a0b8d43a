import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { classifyCommand, sameRows } from '../src/server/api/act-routes.ts'
import { cliCommand, searchFlags } from '../src/server/api/cli-command.ts'
import { parseSearch } from '../src/server/api/parse-search.ts'
import { swapFlags } from '../src/web/parts/shell.ts'

const parse = (text: string) => parseSearch(text, new Date('2026-03-01T12:00:00Z'))
const frozen = { id: 'x', person: 'ann', consumer: 'orders', digest: 'd'.repeat(64), until: 0 }

describe('terms of a search', () => {
  it('hold together: members and quoted texts are all asked for', () => {
    const { members, filter } = parse('payload.a:1 payload.b.c:"2 3" "one text" "and another" code:x')
    assert.deepEqual(members, [
      { path: ['a'], value: '1' },
      { path: ['b', 'c'], value: '2 3' },
    ])
    assert.deepEqual(filter, { payloadHasAll: ['one text', 'and another'], code: 'x' })
  })

  it('are one text if words without quotes stand together', () => {
    assert.deepEqual(parse('passport no code:x https://a.example/b').filter.payloadHasAll, [
      'passport no',
      'https://a.example/b',
    ])
  })

  it('are refused if one of them would be lost', () => {
    assert.throws(
      () => parse('code:a code:b'),
      /"code:" is given twice, as "a" and "b"\. Leave one of them out/,
    )
    assert.throws(() => parse('state:dead state:parked'), /by commas: state:dead,parked/)
    assert.throws(() => parse('id:1 id:2'), /id:1,2/)
    assert.throws(() => parse('since:1h since:2h'), /"since:" is given twice/)
    assert.throws(() => parse('payload.a:1 payload.a:2'), /"payload\.a:" is given twice/)
    assert.equal(parse('code:a code:a').filter.code, 'a')
  })
})

describe('the command for the same messages', () => {
  it('has every term of the search', () => {
    const flags = searchFlags(parse(`state:dead,parked payload.a:1 payload.b:2 "it's" "x y" id:7,8`))
    assert.equal(
      cliCommand(['parked', 'list'], flags),
      `onceward parked list --state dead --state parked --text 'it'\\''s' --text 'x y' --member a=1 --member b=2 --id 7 --id 8`,
    )
  })

  it('classifies by a list, because its options set what others select by', () => {
    const ids = Array.from({ length: 1_500 }, (_, n) => String(n))
    const flags = searchFlags(parse('code:x label:old'))
    assert.equal(
      classifyCommand({ ...frozen, ids, flags, byIds: false }),
      'onceward parked list --consumer orders --code x --label old --limit 1500 --ids | onceward parked classify --ids-from - --consumer orders',
    )
    const byIds = classifyCommand({ ...frozen, ids, flags, byIds: true })
    assert.equal(byIds.split(' ').length, 1_500 + 5)
    assert.deepEqual(sameRows({ ...frozen, ids: ['1'], flags, byIds: false }).words, ['1'])
  })

  it('of a swap has what is accepted', () => {
    assert.equal(swapFlags({ acceptMissing: false, acceptUnknown: false, accept: [] }), '')
    assert.equal(
      swapFlags({ acceptMissing: true, acceptUnknown: true, accept: ['public.a', 'b'] }),
      ` --accept-missing --accept-unknown --accept 'public.a' --accept 'b'`,
    )
  })
})
