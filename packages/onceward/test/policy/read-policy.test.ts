import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { stringify } from 'yaml'
import { contractOptions } from '../../src/contract/options/table.ts'
import { problemLines } from '../../src/contract/policy/problem.ts'
import { readPolicy } from '../../src/contract/policy/read-policy.ts'
import { documentWith, everyKey, fitting, wrong } from './samples.ts'

const read = (text: string | Uint8Array) => readPolicy(text, 'onceward.yaml')
const lines = (text: string | Uint8Array) =>
  problemLines(read(text).problems)
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')

describe('an invalid policy file', () => {
  const one = (text: string | Uint8Array, line: RegExp) => {
    const found = lines(text)
    assert.equal(found.length, 1, found.join('\n'))
    assert.match(found[0]!, line)
  }

  test('empty', () => one('', /^onceward\.yaml:1:1: the file is empty$/))
  test('only comments', () => one('# later\n\n', /1:1: the file is empty/))
  test('binary', () => one(new Uint8Array([0x89, 0x50, 0xff, 0x00]), /1:1: the file is not UTF-8 text/))
  test('with a zero byte', () =>
    one('defaults:\n  owner: a\0b\n', /2:11: the file contains a control character/))
  test('huge', () =>
    one(`# ${'x'.repeat(300_000)}`, /1:1: the file is longer than 256 KiB, and was not read/))
  test('a list', () => one('- a\n- b\n', /1:1: the file must have the keys defaults, sources, consumers/))
  test('two documents', () => one('defaults: {}\n---\ndefaults: {}\n', /2:1: begins a second document/))
  test('the same key twice', () => one('defaults: {}\ndefaults: {}\n', /2:1: defaults is given twice/))
  test('a key that is not a text', () => one('? [a, b]\n: 1\n', /1:3: has a key that is not a name/))
  test('an anchor that is not there', () => one('defaults: *gone\n', /1:11: defaults refers to an anchor/))
  test('an anchor inside of itself', () => {
    assert.match(lines('defaults: &a\n  owner: *a\n').join('\n'), /2:10: .* is nested too deeply/)
  })

  test('deeply nested, in each of the ways', () => {
    for (const text of [
      '['.repeat(20_000),
      '{a: '.repeat(10_000),
      `defaults: ${'{a: '.repeat(500)}1${'}'.repeat(500)}`,
      Array.from({ length: 400 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'),
    ])
      assert.match(lines(text).join('\n'), /^onceward\.yaml:1:\d+: .*nested too deeply|nested too deeply/m)
  })

  test('anchors that expand without bound are refused', () => {
    const letters = 'abcdefghij'
    const bomb = [...letters].map((letter, index) =>
      index === 0
        ? 'a: &a [x, x, x, x, x, x, x, x, x]'
        : `${letter}: &${letter} [${Array(9)
            .fill(`*${letters[index - 1]}`)
            .join(', ')}]`,
    )
    assert.match(lines(bomb.join('\n')).join('\n'), /unfolds more than 100 aliases; the rest was not read/)
  })

  test('broken YAML is reported at its line, without its content', () => {
    const tab = lines('consumers:\n  orders:\n\towner: hunter2\n')
    assert.match(tab.join('\n'), /3:1: is indented with a tab/)
    const open = lines('consumers:\n  orders: {owner: [hunter2, "hunter2\n')
    assert.match(open.join('\n'), /3:1: misses a character/)
    const block = lines('consumers:\n  orders:\n    owner: |hunter2\n      text\n')
    assert.match(block.join('\n'), /3:\d+: is not readable as YAML/)
    assert.doesNotMatch([...tab, ...open, ...block].join('\n'), /hunter2/)
  })

  test('thousands of mistakes are counted, and the first of them shown', () => {
    const text = Array.from({ length: 5_000 }, (_, index) => `k${index}: 1`).join('\n')
    assert.equal(read(text).problems.length, 5_000)
    const shown = lines(text)
    assert.equal(shown.length, 201)
    assert.equal(shown.at(-1), 'and 4800 more')
  })

  test('names from the file are printed without control sequences', () => {
    const found = lines('"\\e[2Jdefaults\\r\\u202e": 1\n')
    assert.equal(found[0], 'onceward.yaml:1:1: ?[2Jdefaults?? is not a known key')
  })
})

describe('every key', () => {
  for (const key of everyKey) {
    test(`${key.key} takes what fits and refuses everything else at its place`, () => {
      assert.deepEqual(lines(stringify(documentWith(key, fitting(key)))), [])
      for (const value of wrong(key)) {
        const text = stringify(documentWith(key, value))
        const { problems } = read(text)
        assert.equal(problems.length, 1, `${text}\n${problemLines(problems)}`)
        const { line, column, text: said } = problems[0]!
        assert.ok(line > 1 && column > 1)
        assert.doesNotMatch(said, /hunter2/i)
      }
    })
  }

  test('misspelt is refused with the nearest name', () => {
    for (const [text, near] of [
      ['consumrs: {}', 'consumers'],
      ['consumers: { orders: { riks: money } }', 'risk'],
      ['consumers: { orders: { failure: { retry: { maxAtempts: 3 } } } }', 'maxAttempts'],
      ['consumers: { orders: { batch: { handlerTimeoutMs: 5 } } }', 'handlerTimeout'],
      ['defaults: { objectives: { lagMx: 5s } }', 'lagMax'],
      ['waivers: [{ rul: x, reason: y, owner: z, until: 2027-01-01, rule: x }]', 'rule'],
      ['consumers: { orders: { order: keys } }', 'key'],
    ] as const)
      assert.match(lines(text).join('\n'), new RegExp(`did you mean '${near}'`), text)
  })

  test('that only code can set is referred to the contract', () => {
    assert.match(lines('consumers: { orders: { handle: x } }')[0]!, /stays in TypeScript/)
    assert.match(lines('consumers: { orders: { name: x } }')[0]!, /the name under consumers/)
    assert.match(lines('defaults: { failure: { attemptsMax: 3 } }')[0]!, /set by failure\.retry\.maxAttempts/)
    assert.match(lines('defaults: { source: { url: x } }')[0]!, /is not a known key/)
  })

  test('of a contract that is plain data is a key of the policy file', () => {
    const code = [
      ...['name', 'source', 'handle', 'handleBatch', 'effect.apply', 'message.schema', 'message.codec'],
      ...['identity.businessDigest', 'query', 'call', 'encoder'],
    ]
    const said = new Set(everyKey.map(({ at }) => at))
    const holds = (place: string) => said.has(place) || [...said].some(at => at?.startsWith(`${place}.`))
    const missing = contractOptions.options
      .map(({ path, fileOnly }) => (fileOnly ? '' : path))
      .filter(place => place !== '' && !code.includes(place) && !code.includes(place.split('.').at(-1)!))
      .filter(place => !holds(place))
    assert.deepEqual(missing, [])
  })
})

describe('waivers', () => {
  test('have a rule, a reason, an owner, an end and a line', () => {
    const { waivers, problems } = read(
      'consumers:\n  orders: {}\nwaivers:\n  - rule: lag-objective\n    consumer: orders\n    reason: "being moved"\n    owner: ann\n    until: 2027-03-31\n',
    )
    assert.deepEqual(problems, [])
    assert.deepEqual(waivers, [
      {
        rule: 'lag-objective',
        consumer: 'orders',
        reason: 'being moved',
        owner: 'ann',
        until: '2027-03-31',
        place: 'onceward.yaml:4:5',
      },
    ])
  })

  test('without an end, a reason or an owner are refused, all at once', () => {
    const found = lines('waivers:\n  - rule: a\n  - reason: " "\n    until: 2027-02-30\n  - 7\n')
    assert.deepEqual(
      found.map(line =>
        line
          .replace(/^onceward\.yaml:/, '')
          .split(' ')
          .slice(0, 2)
          .join(' '),
      ),
      [
        '2:5: waivers.0.reason',
        '2:5: waivers.0.owner',
        '2:5: waivers.0.until',
        '3:5: waivers.1.rule',
        '3:5: waivers.1.owner',
        '3:13: waivers.1.reason',
        '4:12: waivers.1.until',
        '5:5: waivers.2',
      ],
    )
  })

  test('of a consumer the file does not name are refused with the nearest', () => {
    const found = lines(
      'consumers: { orders: {} }\nwaivers:\n  - { rule: a, consumer: order, reason: b, owner: c, until: 2027-01-01 }\n',
    )
    assert.match(found[0]!, /^onceward\.yaml:3:5: .*did you mean 'orders'/)
  })
})

test('any bytes are read as problems or as a policy, without a crash', () => {
  let state = 42
  const random = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state % below
  }
  const seed = stringify({
    defaults: { owner: 'a', failure: { retry: { maxAttempts: 3 } } },
    consumers: { orders: { risk: 'money', effect: { external: { gateway: { policy: 'keyed' } } } } },
    waivers: [{ rule: 'a', reason: 'b', owner: 'c', until: '2027-01-01' }],
  })
  const pieces = [
    '{',
    '}',
    '[',
    ']',
    ':',
    '- ',
    '&a ',
    '*a',
    '!!',
    '|',
    '>',
    "'",
    '"',
    '\t',
    '\n  ',
    '#',
    '%',
    '?',
  ]
  for (let round = 0; round < 500; round++) {
    let text = seed
    for (let change = 0; change <= random(6); change++) {
      const at = random(text.length)
      text = text.slice(0, at) + pieces[random(pieces.length)] + text.slice(at + random(4))
    }
    const { problems } = read(text)
    for (const { line, column } of problems) assert.ok(line >= 1 && column >= 1)
  }
})
