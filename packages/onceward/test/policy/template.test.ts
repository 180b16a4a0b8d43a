import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { consumerParts, projection, withPolicy } from 'onceward'
import { topic } from 'onceward/kafka'
import { readPolicy } from '../../src/contract/policy/read-policy.ts'

/** As 001 §34 prints it: the page has lost its indentation. */
const printed = `deliverySemantics:
topics:
case-events:
defaultGuarantee: at-least-once
key: caseId
ordering: per-key
retention: 7d
replayAllowed: true
consumers:
search-indexer:
idempotency:
strategy: aggregate-version-upsert
duplicateHandling: skip
offsetCommit:
timing: after-db-transaction
retry:
maxAttempts: 5
backoff: exponential-jitter
dlq:
enabled: true
topic: case-events.search-indexer.dlq
owner: search-team
poison:
maxAttemptsBeforePark: 5
lagSlo:
maxLagSeconds: 60
notification-sender:
idempotency:
strategy: notification-id
externalProviderIdempotency: true
replay:
allowed: false-for-side-effect
dlq:
enabled: true
manualReviewRequired: true
`

/** The same as YAML means it. */
const indented = `deliverySemantics:
  topics:
    case-events:
      defaultGuarantee: at-least-once
      key: caseId
      ordering: per-key
      retention: 7d
      replayAllowed: true
  consumers:
    search-indexer:
      idempotency: { strategy: aggregate-version-upsert, duplicateHandling: skip }
      offsetCommit: { timing: after-db-transaction }
      retry: { maxAttempts: 5, backoff: exponential-jitter }
      dlq: { enabled: true, topic: case-events.search-indexer.dlq, owner: search-team }
      poison: { maxAttemptsBeforePark: 5 }
      lagSlo: { maxLagSeconds: 60 }
    notification-sender:
      idempotency: { strategy: notification-id, externalProviderIdempotency: true }
      replay: { allowed: false-for-side-effect }
      dlq: { enabled: true, manualReviewRequired: true }
`

const source = topic('case-events', { start: 'earliest' })
const indexer = consumerParts({
  name: 'search_indexer',
  owner: 'search-team',
  risk: 'projection',
  source,
  identity: { id: { header: 'id' } },
  effect: {
    apply: projection({
      table: 'case_index',
      key: { id: 'caseId' },
      version: { version: 'version' },
      columns: { state: 'state' },
      gap: 'accept latest',
    }),
  },
})
const sender = consumerParts({
  name: 'notification_sender',
  owner: 'notification-team',
  risk: 'notification',
  source,
  identity: { id: { header: 'id' } },
  retention: { markers: '30d' },
  effect: { external: { provider: { url: 'https://provider.example/send' } } },
  handle: ({ effects, envelope }) => effects.external('provider', { key: envelope.id, body: {} }),
})

describe('the policy template of 001 §34', () => {
  for (const [form, text] of [
    ['as printed', printed],
    ['as printed, in bytes', Buffer.from(printed)],
    ['with its indentation', indented],
  ] as const) {
    test(`is accepted ${form}, and means what it says`, () => {
      const policy = readPolicy(text, 'onceward.yaml')
      assert.deepEqual(policy.problems, [])
      const search = withPolicy(indexer, policy)
      assert.deepEqual(
        [search.settle.when, search.order, search.dedup, search.identity.orderKey],
        ['after effect', 'key', 'version', { header: 'caseId' }],
      )
      const { failure } = search
      assert.deepEqual(
        [failure.attemptsMax, failure.deadLetter, failure.deadLetterOwner],
        [5, 'case-events.search-indexer.dlq', 'search-team'],
      )
      assert.equal(search.objectives.lagMaxMs, 60_000)
      const notifier = withPolicy(sender, policy)
      assert.deepEqual(notifier.identity.businessKey, { header: 'notification-id' })
      assert.equal(notifier.replay.effects, 'never')
      assert.equal(notifier.retention?.sourceKeeps, 7 * 86_400_000)
    })
  }

  const refused: readonly (readonly [from: string, to: string, says: RegExp])[] = [
    ['ordering: per-key', 'ordering: total', /topics\.case-events\.ordering has a value/],
    ['maxAttempts: 5', 'maxAttemps: 5', /retry\.maxAttemps .*did you mean 'maxAttempts'/],
    ['enabled: true', 'enabled: false', /dlq\.enabled has a value/],
    ['maxLagSeconds: 60', 'maxLagSeconds: soon', /maxLagSeconds has a value/],
    ['maxAttempts: 5', 'maxAttempts: -5', /retry\.maxAttempts/],
  ]
  for (const [from, to, says] of refused) {
    test(`is refused at its place with ${to}`, () => {
      for (const text of [printed, indented]) {
        const { problems } = readPolicy(text.replace(from, to), 'onceward.yaml')
        const line = text.split('\n').findIndex(one => one.includes(from)) + 1
        assert.ok(
          problems.some(one => one.line === line && says.test(`${one.key} ${one.text}`)),
          JSON.stringify(problems),
        )
      }
    })
  }

  test('may be used with other keys, but names no consumer twice', () => {
    const more = `${indented}consumers:\n  other: { owner: a }\n`
    assert.deepEqual(readPolicy(more, 'f').problems, [])
    const twice = `${indented}consumers:\n  search_indexer: { owner: a }\n`
    assert.match(readPolicy(twice, 'f').problems[0]!.text, /given twice/)
  })
})
