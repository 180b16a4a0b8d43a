import { durationText } from '../../packages/onceward/src/contract/duration.ts'
import type { ValueKind } from '../../packages/onceward/src/contract/options/value-kind.ts'
import type { PolicyKey } from '../../packages/onceward/src/contract/policy/keys/policy-key.ts'
import { policyKeys } from '../../packages/onceward/src/contract/policy/keys/policy-keys.ts'
import { sizeText } from '../../packages/onceward/src/contract/policy/read-size.ts'
import { envExample } from '../../packages/onceward/src/contract/policy/secret-reference.ts'

/** Every key for the docs: name, what may stand there, meaning. */
export function keyReference(
  keys: readonly PolicyKey[] = policyKeys,
): readonly { key: string; values: string; description: string }[] {
  return keys.map(key => ({
    key: key.key.replaceAll('*', '<name>'),
    values: values(key),
    description: key.description,
  }))
}

function values(key: ValueKind): string {
  switch (key.kind) {
    case 'word':
      return key.words.map(word => `\`${word}\``).join(', ')
    case 'words':
      return `list of ${key.words.map(word => `\`${word}\``).join(', ')}`
    case 'count':
      return `whole number, ${key.min} to ${key.max}`
    case 'duration':
      return `duration, ${durationText(key.min)} to ${durationText(key.max)}`
    case 'size':
      return `size, ${sizeText(key.min)} to ${sizeText(key.max)}`
    case 'share':
      return 'above 0, at most 1'
    case 'flag':
      return 'true, false'
    case 'off':
      return '`false`'
    case 'texts':
      return 'list of strings'
    case 'ports':
      return 'list of port numbers'
    case 'from':
      return '`{ header: … }`, `{ property: … }`'
    case 'from or position':
      return '`{ header: … }`, `{ property: … }`, `position`, `content`'
    case 'versions':
      return 'list, `{ min, max }`'
    case 'secret':
    case 'address':
      return `**secret**: \`${envExample}\``
    case 'header':
      return `text, or **secret**: \`Bearer ${envExample}\``
    case 'text or none':
      return 'text, `null`'
    case 'text':
      return 'text'
  }
}
