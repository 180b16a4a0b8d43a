import assert from 'node:assert/strict'
import { defineConsumer } from 'onceward'
import { OncewardError } from '../../../src/errors.ts'
import { orRefused, type Target } from '../target.ts'

/** Values that JSON cannot write. */
const special: Readonly<Record<string, unknown>> = {
  '<undefined>': undefined,
  '<nan>': Number.NaN,
  '<infinity>': Number.POSITIVE_INFINITY,
  '<bigint>': 7n,
  '<function>': () => 'x',
  '<symbol>': Symbol('x'),
  '<date>': new Date(0),
  '<regexp>': /x/,
}

const words = [
  ...Object.keys(special),
  ...[
    'name',
    'source',
    'kind',
    'identity',
    'id',
    'header',
    'order',
    'key',
    'partition',
    'failure',
    'mode',
    'attempts',
  ],
  ...[
    'retry',
    'park',
    'dead-letter',
    'retention',
    'markers',
    '30d',
    '5s',
    'batch',
    'max',
    'effect',
    'external',
    'url',
  ],
  ...[
    'publish',
    'inbox',
    'stored',
    'message',
    'limits',
    'depthMax',
    'dedup',
    'checkpoint',
    'version',
    'objectives',
  ],
  ...[
    'projection',
    'table',
    'transition',
    'contribution',
    'audit',
    'replay',
    'window',
    'isolation',
    'settle',
    'evidence',
  ],
]

/** A contract is accepted, or refused with every problem named. */
const contracts: Target = {
  name: 'contracts',
  kind: 'json',
  seeds: [
    {
      name: 'orders',
      source: { kind: 'rabbitmq', queue: 'q' },
      identity: { id: { header: 'id' } },
      handle: '<function>',
    },
    {
      name: 'orders',
      source: { kind: 'kafka', topic: 't' },
      identity: { id: '<function>', orderKey: '<function>', idTime: 'ulid' },
      order: 'key',
      failure: { mode: 'defer', attempts: 3, retryDelay: '5s', parking: { perKeyMax: 5 } },
      retention: { markers: '30d', reason: 'x' },
      inbox: { mode: 'stored' },
      batch: { max: 10 },
      effect: { external: { mail: { url: 'https://one.example', policy: 'keyed' } } },
      handleBatch: '<function>',
    },
  ],
  words,
  check(input) {
    const contract = JSON.parse(input.toString('utf8'), (_name, value) =>
      typeof value === 'string' && Object.hasOwn(special, value) ? special[value] : value,
    )
    const refused = { problems: 0 }
    orRefused(
      () => defineConsumer(contract),
      error => {
        if (!(error instanceof OncewardError) || error.code !== 'contract_invalid') return false
        refused.problems = (error.details.problems as unknown[]).length
        return refused.problems > 0
      },
    )
    assert.ok(refused.problems >= 0)
  },
}

export const contractTargets = [contracts]
