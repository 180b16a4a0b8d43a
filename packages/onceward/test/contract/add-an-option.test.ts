import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { policySchema } from '../../../../scripts/reference/json-schema.ts'
import { keyReference } from '../../../../scripts/reference/key-reference.ts'
import { applyDefaults } from '../../src/contract/apply-defaults.ts'
import type { ConsumerContract } from '../../src/contract/contract.ts'
import { contractProblems } from '../../src/contract/contract-problems.ts'
import { duration, milliseconds } from '../../src/contract/options/amount-kinds.ts'
import { computed, type Option, option } from '../../src/contract/options/option.ts'
import { problemsAt } from '../../src/contract/options/option-problems.ts'
import { listedOptions, OptionTable } from '../../src/contract/options/table.ts'
import { word } from '../../src/contract/options/text-kinds.ts'
import { policyKeys, policyKeysOf } from '../../src/contract/policy/keys/policy-keys.ts'
import { readPolicy } from '../../src/contract/policy/read-policy.ts'
import { publishTargetProblems } from '../../src/contract/publish-problems.ts'

interface Added {
  readonly option: Option
  readonly fits: unknown
  readonly wrong: unknown
  readonly refusal: string
  /** Name and value with the defaults applied, and the same where the contract says `fits`. */
  readonly standard: readonly [string, unknown]
  readonly given: unknown
  readonly inFile: unknown
  readonly row: { readonly key: string; readonly values: string; readonly description: string }
}

/** Made-up options, one entry of the table each. */
const added: readonly Added[] = [
  {
    option: option('batch.colour', word(['red', 'blue']), 'what colour it has', { default: 'red' }),
    fits: 'blue',
    wrong: 'green',
    refusal: "must be one of 'red', 'blue'",
    standard: ['colour', 'red'],
    given: 'blue',
    inFile: 'blue',
    row: {
      key: 'batch.colour',
      values: '`red`, `blue`',
      description: 'what colour it has. Default: `red`',
    },
  },
  {
    option: option('inbox.restMs', milliseconds(10, 60_000), 'how long workers rest', {
      default: computed(get => get('inbox.leaseMs') / 10),
      defaultText: 'a tenth of the lease',
    }),
    fits: 500,
    wrong: 5,
    refusal: 'must be a whole number from 10 to 60000',
    standard: ['restMs', 3_000],
    given: 500,
    inFile: '500ms',
    row: {
      key: 'inbox.rest',
      values: 'duration, 10ms to 1m',
      description: 'how long workers rest. Default: a tenth of the lease',
    },
  },
  {
    option: option(
      'objectives.paintMax',
      duration({ examples: "'5m'", max: 3_600_000 }),
      'how old paint may be',
      { default: '2m' },
    ),
    fits: '5m',
    wrong: 'soon',
    refusal: "must be a number of milliseconds or a string such as '5m'",
    standard: ['paintMaxMs', 120_000],
    given: 300_000,
    inFile: '5m',
    row: {
      key: 'objectives.paintMax',
      values: 'duration, 0ms to 1h',
      description: 'how old paint may be. Default: 2m',
    },
  },
]

const contract: ConsumerContract = {
  name: 'orders',
  owner: 'team',
  risk: 'low value',
  source: { kind: 'memory' },
  identity: { id: { property: 'messageId' } },
  handle() {},
}

const validator = (schema: object) => new Ajv2020({ strict: true, strictTypes: false }).compile(schema)
const today = validator(policySchema())

for (const { option: one, fits, wrong, refusal, standard, given, inFile, row } of added) {
  const table = new OptionTable([...listedOptions, one])
  const keys = policyKeysOf(table)
  const [section, name] = one.path.split('.') as [string, string]
  const saying = (value: unknown, as = name) =>
    ({ ...contract, [section]: { [as]: value } }) as ConsumerContract
  const fileSaying = (value: unknown) => ({
    consumers: { orders: { [section]: { [row.key.split('.')[1]!]: value } } },
  })

  describe(`the option ${one.path}, added to the table alone,`, () => {
    test('is known, and its name is suggested', () => {
      assert.deepEqual(contractProblems(saying(fits)), [{ place: one.path, text: 'is not a known key' }])
      assert.deepEqual(contractProblems(saying(fits), table), [])
      assert.deepEqual(contractProblems(saying(fits, `${name}x`), table), [
        { place: `${one.path}x`, text: `is not a known key; did you mean '${name}'?` },
      ])
    })

    test('has its value checked', () => {
      assert.deepEqual(contractProblems(saying(wrong), table), [{ place: one.path, text: refusal }])
    })

    test('has its default applied', () => {
      const sectionOf = (from: ConsumerContract) =>
        (applyDefaults(from, table) as unknown as Record<string, Record<string, unknown>>)[section]!
      const [resolved, value] = standard
      assert.equal(sectionOf(contract)[resolved], value)
      assert.equal(sectionOf(saying(fits))[resolved], given)
      assert.ok(!(resolved in (applyDefaults(contract) as unknown as Record<string, object>)[section]!))
    })

    test('is read from a policy file, for the place it has in the contract', () => {
      const read = (value: unknown, from = keys) => readPolicy(JSON.stringify(fileSaying(value)), 'f', from)
      const { problems, policies } = read(inFile)
      assert.deepEqual(problems, [])
      const [said] = policies.consumers.get('orders')!.values
      assert.deepEqual([said!.path, said!.value], [one.path.split('.'), given])
      assert.equal(read({ not: 'this' }).problems.length, 1)
      assert.match(read(inFile, policyKeys).problems[0]!.text, /is not a known key/)
    })

    test('is in the JSON Schema', () => {
      const accepts = validator(policySchema(keys))
      assert.equal(accepts(fileSaying(inFile)), true)
      assert.equal(accepts(fileSaying({ not: 'this' })), false)
      assert.equal(today(fileSaying(inFile)), false)
    })

    test('has a line in the reference', () => {
      const lines = keyReference(keys)
      assert.deepEqual(lines.at(-1), row)
      assert.deepEqual(lines.slice(0, -1), keyReference())
    })
  })
}

test('an option of targets is known to their rules as well', () => {
  const colour = (path: string) => option(path, word(['red', 'blue']), 'its colour', { default: 'red' })
  const table = new OptionTable([
    ...listedOptions,
    colour('effect.external.*.colour'),
    colour('effect.publish.*.colour'),
  ])
  const effect = {
    external: { gateway: { url: 'https://gateway.example/', colour: 'red' } },
    publish: { events: { broker: 'kafka', topic: 'events', colour: 'red' } },
  }
  const painted = { ...contract, effect } as unknown as ConsumerContract
  assert.deepEqual(contractProblems(painted, table), [])
  assert.deepEqual(
    contractProblems(painted).map(({ place }) => place),
    ['effect.external.gateway.colour', 'effect.publish.events.colour'],
  )
  const problems: string[] = []
  const wrong = (place: string, text: string) => void problems.push(`${place} ${text}`)
  problemsAt('effect.publish.*', { ...effect.publish.events, colour: 'green' }, 'target', wrong, table)
  publishTargetProblems('target', effect.publish.events, wrong)
  assert.deepEqual(problems, ["target.colour must be one of 'red', 'blue'"])
})
