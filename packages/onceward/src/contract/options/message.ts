import { jsonCodec } from '../../message/codec.ts'
import { acceptsNull } from '../accepts-null.ts'
import { isRecord } from '../check-values.ts'
import { size, wholeNumber } from './amount-kinds.ts'
import { codeOnly } from './code-kinds.ts'
import { section, unchecked } from './kind.ts'
import { computed, option } from './option.ts'
import { texts, versions, word } from './text-kinds.ts'

const mib = 1024 * 1024
const inCode = { elsewhere: 'stays in TypeScript' }
const message = section(names => `must be a Standard Schema or { ${names.join(', ')} }`, {
  alsoAccepts: value => (typeof value === 'function' || isRecord(value)) && '~standard' in value,
})
const limitSize = size(1, 2 ** 31)
const limitCount = wholeNumber(1, 2 ** 31)
const members = texts('must be a list of members, such as customer.iban', {
  fits: name => name !== '',
  least: 1,
})
const types = texts('must be a list of names', { fits: name => name !== '', least: 1 })

/** How messages are read. */
export const messageOptions = [
  option('message', message),
  option('message.schema', unchecked(codeOnly('must be a Standard Schema')), null, inCode),
  option('message.codec', unchecked(codeOnly('must be a codec')), null, { ...inCode, default: jsonCodec }),
  option('message.limits', section()),
  option(
    'message.digestHeaders',
    texts('must be a list of header names'),
    'headers that belong to the content, and therefore to the digest',
    { default: computed(() => []) },
  ),
  option(
    'message.maskedMembers',
    members,
    'members of JSON payloads that the console hides from people who may not see them, such as `customer.iban`',
  ),
  option('message.types', types, 'message types this consumer handles; others are parked'),
  option(
    'message.versions',
    versions,
    'schema versions it can read: a list, or `{ min, max }`; others are parked',
  ),
  option(
    'message.tombstones',
    word(['quarantine', 'handle']),
    'records without a body: quarantined, or passed to the handler as `null`',
    {
      default: computed(get =>
        get('effect.apply')?.tombstones || acceptsNull(get('message.schema')) ? 'handle' : 'quarantine',
      ),
      defaultText: '`handle` if the schema accepts null, else `quarantine`',
    },
  ),
  option('message.limits.bytesMax', limitSize, 'size of the body as delivered', { default: mib }),
  option('message.limits.decompressedBytesMax', limitSize, 'size of the body after decompression', {
    default: 16 * mib,
  }),
  option('message.limits.headerBytesMax', limitSize, 'size of header names and values together', {
    default: 64 * 1024,
  }),
  option('message.limits.headersMax', limitCount, 'number of headers', { default: 100 }),
  option('message.limits.depthMax', limitCount, 'nesting depth of a JSON body', { default: 64 }),
  option('message.limits.keysMax', limitCount, 'object members in a JSON body', { default: 100_000 }),
]
