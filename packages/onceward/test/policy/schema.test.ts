import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { stringify } from 'yaml'
import { policySchema } from '../../../../scripts/reference/json-schema.ts'
import { keyReference } from '../../../../scripts/reference/key-reference.ts'
import { readPolicy } from '../../src/contract/policy/read-policy.ts'
import { documentWith, everyKey, fitting, wrong } from './samples.ts'

const published = JSON.parse(
  readFileSync(new URL('../../policy.schema.json', import.meta.url), 'utf8'),
) as object
const validate = new Ajv2020({ strict: true, strictTypes: false, allErrors: true }).compile(published)
const accepts = (document: unknown) => validate(document) as boolean
const reads = (document: unknown) => readPolicy(stringify(document), 'f').problems.length === 0

describe('the published JSON Schema', () => {
  test('is what the table says (else: node scripts/write-policy-schema.ts)', () => {
    assert.deepEqual(published, JSON.parse(JSON.stringify(policySchema())))
  })

  test('is shipped', () => {
    const { files } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    assert.ok(files.includes('policy.schema.json'))
  })

  test('accepts every key with a value that fits, and describes it', () => {
    for (const key of everyKey) {
      assert.ok(accepts(documentWith(key, fitting(key))), key.key)
      assert.ok(key.description.length > 5, key.key)
    }
  })

  test('refuses what the reader refuses, except for bounds of amounts and incomplete references', () => {
    for (const key of everyKey) {
      for (const value of wrong(key)) {
        const amount = (key.kind === 'duration' || key.kind === 'size') && typeof value === 'string'
        const inside = key.kind === 'versions' || key.kind === 'header'
        if (amount || inside || accepts(documentWith(key, value)) === false) continue
        assert.fail(`${key.key} with ${JSON.stringify(value)}`)
      }
    }
  })

  test('agrees about the file as a whole', () => {
    const waiver = { rule: 'a', reason: 'b', owner: 'c', until: '2027-01-01' }
    for (const right of [
      { defaults: null, sources: null, consumers: { orders: null }, waivers: null },
      { consumers: { orders: { failure: { deadLetter: 'dead' } } }, waivers: [waiver] },
      { sources: { 'orders.q': { order: 'key' } }, defaults: { failure: { breaker: false } } },
    ])
      assert.deepEqual([accepts(right), reads(right)], [true, true], JSON.stringify(right))
    for (const no of [
      [],
      { consumrs: {} },
      { consumers: { 'Not-A-Name': {} } },
      { consumers: [] },
      { consumers: { orders: { bogus: 1 } } },
      { consumers: { orders: { failure: { retry: 3 } } } },
      { defaults: { source: { url: '${' + 'env:URL}' } } },
      { waivers: [{ rule: 'a' }] },
      { waivers: [{ ...waiver, until: 'soon' }] },
      { waivers: [{ ...waiver, bogus: 1 }] },
    ])
      assert.deepEqual([accepts(no), reads(no)], [false, false], JSON.stringify(no))
  })
})

describe('docs/policy.md', () => {
  const page = readFileSync(new URL('../../../../docs/policy.md', import.meta.url), 'utf8')
  const known = new Set(keyReference().map(({ key }) => key))

  test('has an equivalent for every key of the template, and each of them is a key', () => {
    const template = page.slice(page.indexOf('## From the usual template'))
    const rows = [...template.matchAll(/^\| `([^`]+)` \| `([^`]+)` \|/gm)].map(([, theirs, ours]) => [
      theirs,
      ours,
    ])
    assert.deepEqual(
      rows.map(([theirs]) => theirs),
      [
        'deliverySemantics',
        'topics.<topic>',
        'topics.<topic>.defaultGuarantee',
        'topics.<topic>.key',
        'topics.<topic>.ordering',
        'topics.<topic>.retention',
        'topics.<topic>.replayAllowed',
        'consumers.<name>',
        'idempotency.strategy',
        'idempotency.duplicateHandling',
        'idempotency.externalProviderIdempotency',
        'offsetCommit.timing',
        'retry.maxAttempts',
        'retry.initialDelayMs',
        'retry.maxDelayMs',
        'retry.jitter',
        'retry.backoff',
        'retry.retryable',
        'retry.nonRetryable',
        'dlq.enabled',
        'dlq.topic',
        'dlq.owner',
        'dlq.manualReviewRequired',
        'poison.maxAttemptsBeforePark',
        'lagSlo.maxLagSeconds',
        'replay.allowed',
      ],
    )
    const places = ['onceward.yaml', 'sources.<name>', 'consumers.<name>']
    for (const [theirs, ours] of rows) {
      const key = ours!.replace(/^sources\.<name>\./, '')
      const found =
        places.includes(ours!) || known.has(key) || [...known].some(one => one.startsWith(`${key}.`))
      assert.ok(found, `${theirs} → ${ours}`)
    }
  })

  test('shows the template as a policy file that can be read', () => {
    const [, block] = /```yaml\n(# the template[\s\S]*?)```/.exec(page) ?? []
    assert.ok(block !== undefined)
    assert.deepEqual(readPolicy(block, 'docs/policy.md').problems, [])
  })
})
