import { nearestName } from '../../ports/nearest-name.ts'
import { durationMs, durationText } from '../duration.ts'
import type { ValueKind } from '../options/value-kind.ts'
import { properties } from '../words.ts'
import type { PolicyKey } from './keys/policy-key.ts'
import type { Placed } from './parse-yaml.ts'
import { readSize, sizeText } from './read-size.ts'
import { envExample, refersSomewhere, secretReference } from './secret-reference.ts'

/**
 * The value for the contract, or the reason why it is unusable. The reason lists allowed values, and never
 * quotes the given one.
 */
export type ReadValue = { readonly value: unknown } | { readonly wrong: string }

/** The value of one key, in the units of the contract. */
export function readValue(node: Placed, key: PolicyKey): ReadValue {
  const text = node.kind === 'scalar' && typeof node.value === 'string' ? node.value : null
  const refers = text !== null && refersSomewhere(text)
  switch (key.kind) {
    case 'secret':
    case 'address':
    case 'header':
      return readSecret(node, key.kind)
    default:
      return refers ? { wrong: onlySecrets } : readPlain(node, key)
  }
}

const onlySecrets = 'refers to the environment, which only secrets may: write all other values in the file'

function readSecret(node: Placed, kind: 'secret' | 'address' | 'header'): ReadValue {
  const text = node.kind === 'scalar' && typeof node.value === 'string' ? node.value : null
  const found = text === null ? null : secretReference(text, kind === 'header')
  if (found !== null) return { value: found }
  if (kind === 'header' && text !== null && !refersSomewhere(text)) return { value: text }
  return kind === 'header'
    ? { wrong: `must be a string, or end in a reference such as Bearer ${envExample}` }
    : { wrong: `is a secret: write ${envExample} and keep the value in the environment` }
}

function readPlain(node: Placed, key: ValueKind): ReadValue {
  const value = node.kind === 'scalar' ? node.value : undefined
  switch (key.kind) {
    case 'text':
      return typeof value === 'string' ? { value } : { wrong: 'must be a string' }
    case 'text or none':
      return typeof value === 'string' || value === null
        ? { value }
        : { wrong: 'must be a string, or null for none' }
    case 'texts':
      return readList(node, one => typeof one === 'string', 'must be a list of strings')
    case 'word':
      return key.words.includes(value as string) ? { value } : { wrong: oneOf(key.words, value) }
    case 'words':
      return readList(
        node,
        one => key.words.includes(one as string),
        `must be a list of ${quoted(key.words)}`,
      )
    case 'flag':
      return typeof value === 'boolean' ? { value } : { wrong: 'must be true or false' }
    case 'off':
      return value === false ? { value } : { wrong: 'must be false, or have keys below it' }
    case 'ports':
      return readList(
        node,
        one => Number.isInteger(one) && (one as number) >= 1 && (one as number) <= 65_535,
        'must be a list of port numbers',
      )
    case 'from':
    case 'from or position':
      return readFrom(node, key.kind === 'from or position')
    case 'versions':
      return readVersions(node)
    default:
      return readAmount(value, key as Amount)
  }
}

type Amount = Extract<ValueKind, { kind: 'count' | 'share' | 'duration' | 'size' }>

function readAmount(value: unknown, key: Amount): ReadValue {
  switch (key.kind) {
    case 'share':
      return typeof value === 'number' && value > 0 && value <= 1
        ? { value }
        : { wrong: 'must be a share: more than 0, at most 1' }
    case 'count':
      return Number.isInteger(value) && (value as number) >= key.min && (value as number) <= key.max
        ? { value }
        : { wrong: `must be a whole number from ${key.min} to ${key.max}` }
    case 'duration': {
      const ms = typeof value === 'string' ? durationMs(value) : null
      if (ms === null) return { wrong: 'must be a duration with its unit, such as 500ms, 30s, 5m, 12h or 7d' }
      const inside = ms >= key.min && ms <= key.max
      return inside
        ? { value: ms }
        : { wrong: `must be from ${durationText(key.min)} to ${durationText(key.max)}` }
    }
    case 'size': {
      const bytes = readSize(value)
      if (bytes === null) return { wrong: 'must be a size with its unit, such as 512B, 64KiB or 10MiB' }
      if (bytes < key.min || bytes > key.max)
        return { wrong: `must be from ${sizeText(key.min)} to ${sizeText(key.max)}` }
      return bytes % key.unitBytes === 0
        ? { value: bytes / key.unitBytes }
        : { wrong: `must be a multiple of ${sizeText(key.unitBytes)}` }
    }
  }
}

function readList(node: Placed, fits: (one: unknown) => boolean, wrong: string): ReadValue {
  if (node.kind !== 'list') return { wrong }
  const values = node.items.map(item => (item.kind === 'scalar' ? item.value : undefined))
  if (!values.every(fits)) return { wrong }
  return values.some(one => typeof one === 'string' && refersSomewhere(one))
    ? { wrong: onlySecrets }
    : { value: values }
}

const fromHint = "must name where it is read: { header: 'name' } or { property: 'messageId' }"

function readFrom(node: Placed, positionToo: boolean): ReadValue {
  const hint = positionToo ? `${fromHint}, or position, or content` : fromHint
  if (positionToo && node.kind === 'scalar' && (node.value === 'position' || node.value === 'content'))
    return { value: node.value }
  if (node.kind !== 'map' || node.entries.length !== 1) return { wrong: hint }
  const { name, value } = node.entries[0]!
  const named = value.kind === 'scalar' && typeof value.value === 'string' ? value.value : ''
  if (refersSomewhere(named)) return { wrong: onlySecrets }
  if (name === 'header' && named !== '') return { value: { header: named } }
  if (name !== 'property') return { wrong: hint }
  return (properties as readonly string[]).includes(named)
    ? { value: { property: named } }
    : { wrong: `names a property, which ${oneOf(properties, named)}` }
}

function readVersions(node: Placed): ReadValue {
  const hint = 'must be a list of versions, or { min, max } in whole numbers'
  if (node.kind === 'list')
    return node.items.length === 0
      ? { wrong: hint }
      : readList(node, one => (typeof one === 'string' && one !== '') || Number.isFinite(one), hint)
  if (node.kind !== 'map') return { wrong: hint }
  const ends = Object.fromEntries(
    node.entries.map(({ name, value }) => [name, value.kind === 'scalar' ? value.value : null]),
  )
  const whole = (end: unknown) => Number.isInteger(end) && (end as number) >= 0 && (end as number) <= 2 ** 31
  const { min, max } = ends
  return node.entries.length === 2 && whole(min) && whole(max) && Number(min) <= Number(max)
    ? { value: { min, max } }
    : { wrong: hint }
}

function oneOf(words: readonly string[], given: unknown): string {
  const near = typeof given === 'string' && given.length < 60 ? nearestName(given, words) : null
  return `must be ${words.length === 1 ? '' : 'one of '}${quoted(words)}${near === null ? '' : `; did you mean '${near}'?`}`
}

const quoted = (words: readonly string[]) => words.map(word => `'${word}'`).join(', ')
