import type { Consumer } from 'onceward'
import type { PayloadRight } from './rights.ts'

type Identity = Pick<Consumer<never, never>['identity'], 'orderKey' | 'businessKey' | 'aggregateId'>

/**
 * Order keys, business keys and aggregate ids are values of payloads. A person with masked payloads sees them
 * only where they cannot be a hidden value: the contract is known, and its functions do nothing but read
 * members that are not masked, such as `m => m.accountId`.
 */
export function showsKeys(
  right: PayloadRight,
  identity: Identity | undefined,
  masked: readonly string[] | undefined,
): boolean {
  if (right !== 'masked') return right === 'full'
  if (identity === undefined || masked === undefined) return false
  const paths = masked.map(path => path.replace(/^\$\./, '').split('.'))
  return [identity.orderKey, identity.businessKey, identity.aggregateId].every(
    key => key === undefined || membersOf(key)?.every(member => !paths.some(path => overlap(path, member))),
  )
}

const plain = /^\s*\(?\s*(\w+)\s*\)?\s*=>\s*(?:\1((?:\.\w+)+)|`((?:[^`$\\]|\$\{\1(?:\.\w+)+\})*)`)\s*$/

/** The members that a function of a contract reads; null if its source does not say so plainly. */
function membersOf(key: unknown): readonly (readonly string[])[] | null {
  const found = typeof key === 'function' ? plain.exec(key.toString()) : null
  if (found === null) return null
  const [, name, one, template = ''] = found
  if (one !== undefined) return [one.slice(1).split('.')]
  return [...template.matchAll(new RegExp(`\\$\\{${name}((?:\\.\\w+)+)\\}`, 'g'))].map(([, path]) =>
    path!.slice(1).split('.'),
  )
}

/** One contains the other. */
const overlap = (path: readonly string[], member: readonly string[]) =>
  member.every((step, index) => index >= path.length || path[index] === '*' || path[index] === step)

const members = ['key', 'orderKey', 'businessKey', 'brokerKey', 'aggregateId']
const texts = ['text', 'summary', 'answer', 'asked', 'from', 'reason', 'why', 'note', 'error']
export const hiddenKey = '•••'

/** The same value without keys, in members and where texts quote them. Message ids stay. */
export function withoutKeys<T>(value: T): T {
  const quoted = [...new Set(keysIn(value))].filter(key => key.length > 3)
  const longestFirst = quoted.toSorted((a, b) => b.length - a.length)
  return hide(value, longestFirst, '') as T
}

function hide(value: unknown, quoted: readonly string[], name: string): unknown {
  if (typeof value === 'string' || typeof value === 'number') {
    if (members.includes(name)) return hiddenKey
    if (typeof value === 'number' || !texts.includes(name)) return value
    return quoted.reduce((rest, key) => rest.replaceAll(key, hiddenKey), value)
  }
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  if (Array.isArray(value)) return value.map(one => hide(one, quoted, name))
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, hide(one, quoted, name)]))
}

function keysIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null || value instanceof Date) return []
  return Object.entries(value).flatMap(([name, one]) =>
    members.includes(name) && (typeof one === 'string' || typeof one === 'number')
      ? [String(one)]
      : keysIn(one),
  )
}
