import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { computedDefault, type Option } from '../../src/contract/options/option.ts'
import { contractOptions, placeOf } from '../../src/contract/options/table.ts'
import { policyKeys, setElsewhere } from '../../src/contract/policy/keys/policy-keys.ts'

const { options } = contractOptions
const listed = (found: readonly Option[]) => found.map(({ path }) => path)
const isPlain = (one: Option) => one.default !== undefined && computedDefault(one) === null

describe('the table of options', () => {
  test('has each option once', () => {
    assert.equal(new Set(listed(options)).size, options.length)
  })

  test('has every section in which it has options', () => {
    const held = options.map(({ path }) => placeOf(path).section)
    const elsewhere = ['', 'source.tls', 'source.sasl', 'failure.retry']
    assert.deepEqual(
      held.filter(section => !elsewhere.includes(section) && contractOptions.find(section) === undefined),
      [],
    )
    const named = options.filter(({ kind }) => kind.holds === 'record')
    for (const { path } of named) assert.ok(contractOptions.find(`${path}.*`), path)
  })

  test('accepts its own defaults', () => {
    for (const { path, kind, default: standard } of options.filter(isPlain)) {
      const problems: string[] = []
      if (kind.holds === 'value') kind.check(standard, path, (_, text) => problems.push(text))
      assert.deepEqual(problems, [], path)
    }
  })

  test('names in the reference the default that is used', () => {
    const worded = options.filter(one => isPlain(one) && typeof one.defaultText === 'string')
    assert.ok(worded.length > 5)
    const inFileWords = new Map([['failure.jitter', 'exponential-jitter']])
    for (const { path, default: standard, defaultText } of worded)
      if (standard !== null) assert.ok(defaultText!.includes(inFileWords.get(path) ?? String(standard)), path)
  })

  test('describes what a policy file can say, and nothing else', () => {
    const said = new Set(policyKeys.flatMap(({ key, at }) => [key, at]))
    const wrong = options.filter(one => (one.description !== null) !== said.has(one.path))
    // A list of codes in the file is told to the contract here, where a contract has a record of its own.
    assert.deepEqual(listed(wrong), ['failure.classes'])
  })

  test('has no key of the policy file twice, and refuses no correct use', () => {
    const keys = policyKeys.map(({ key }) => key)
    assert.equal(new Set(keys).size, keys.length)
    assert.deepEqual(
      keys.filter(key => setElsewhere(contractOptions).has(key)),
      [],
    )
  })
})
