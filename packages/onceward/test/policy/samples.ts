import type { PolicyKey } from '../../src/contract/policy/keys/policy-key.ts'
import { policyKeys } from '../../src/contract/policy/keys/policy-keys.ts'

/** A value that fits a key, as the file writes it. */
export function fitting(key: PolicyKey): unknown {
  switch (key.kind) {
    case 'word':
      return key.words[0]
    case 'words':
      return [key.words[0]]
    case 'text':
    case 'text or none':
    case 'header':
      return key.key.endsWith('url') ? 'https://one.example/' : 'some words'
    case 'texts':
      return ['one', 'two']
    case 'flag':
      return true
    case 'off':
      return false
    case 'count':
      return key.min
    case 'share':
      return 0.5
    case 'duration':
      return `${key.min}ms`
    case 'size':
      return `${key.min}B`
    case 'ports':
      return [443, 8443]
    case 'from':
    case 'from or position':
      return { header: 'x-name' }
    case 'versions':
      return { min: 1, max: 3 }
    case 'secret':
    case 'address':
      return '${' + 'env:SOME_NAME}'
  }
}

/** Values of a kind that are wrong, one by one. */
export function wrong(key: PolicyKey): unknown[] {
  const never = [{ nested: { deep: 1 } }, '${' + 'env:HUNTER2']
  switch (key.kind) {
    case 'word':
      return [...never, 'nonsense', 7, true, ['nonsense']]
    case 'words':
      return [...never, 'replay', ['nonsense'], [7]]
    case 'text':
      return [...never, 7, true, null, ['a'], '${' + 'env:HOME}']
    case 'text or none':
      return [...never, 7, true, ['a']]
    case 'texts':
      return [...never, 'one', [1], [['a']]]
    case 'flag':
      return [...never, 'yes', 1, null]
    case 'off':
      return ['nonsense', true, 7, ['a']]
    case 'count':
      return [...never, key.min - 1, key.max + 1, 1.5, String(key.min), null]
    case 'share':
      return [...never, 0, 1.1, '5%']
    case 'duration':
      return [
        ...never,
        key.max + 1,
        30,
        '30',
        '30 seconds',
        '-1s',
        `${key.max + 1}ms`,
        null,
        ...(key.min > 0 ? [`${key.min - 1}ms`] : []),
      ]
    case 'size':
      return [...never, 1024, '10 MB', '10', `${key.max + 1}B`, '0B', null]
    case 'ports':
      return [...never, 443, [0], [70_000], ['443']]
    case 'from':
      return [
        ...never,
        'position',
        { header: '' },
        { property: 'nonsense' },
        { header: 'a', property: 'messageId' },
        7,
      ]
    case 'from or position':
      return [...never, 'positions', { header: 1 }, {}]
    case 'versions':
      return [...never, [], 3, { min: 3, max: 1 }, { min: 1 }]
    case 'secret':
    case 'address':
      return [...never, 'amqp://user:hunter2@host', 'hunter2', null, `prefix ${'${'}env:NAME}`]
    case 'header':
      return [...never, 7, null, ['a']]
  }
}

/** The document in which a key has a value, below one consumer. */
export function documentWith(key: PolicyKey, value: unknown): Record<string, unknown> {
  const path = key.key.split('.').map(part => (part === '*' ? starOf(key.key) : part))
  const nested = path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)
  return { consumers: { orders: nested } }
}

const starOf = (key: string) => (key.startsWith('failure.policies') ? 'poison' : 'chosen')

export const everyKey = policyKeys
