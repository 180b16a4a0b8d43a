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
const types = texts('must be a list of names', { fits: name => name !== '', least: 1 })

/** What it reads. */
export const messageOptions = [
  option('message', message),
  option('message.schema', unchecked(codeOnly('must be a Standard Schema')), null, inCode),
  option('message.codec', unchecked(codeOnly('must be a codec')), null, { ...inCode, default: jsonCodec }),
  option('message.limits', section()),
  option(
    'message.digestHeaders',
    texts('must be a list of header names'),
    'headers that are part of the content',
    { default: computed(() => []) },
  ),
  option('message.types', types, 'types this consumer knows; others are parked'),
  option(
    'message.versions',
    versions,
    'schema versions it can read, as a list or as `{ min, max }`; others are parked',
  ),
  option(
    'message.tombstones',
    word(['quarantine', 'handle']),
    'records without a body: set aside, or given to the handler as `null`',
    {
      default: computed(get =>
        get('effect.apply')?.tombstones || acceptsNull(get('message.schema')) ? 'handle' : 'quarantine',
      ),
      defaultText: '`handle` where the schema takes null, else `quarantine`',
    },
  ),
  option('message.limits.bytesMax', limitSize, 'body as the broker carried it', { default: mib }),
  option('message.limits.decompressedBytesMax', limitSize, 'body after decompression', { default: 16 * mib }),
  option('message.limits.headerBytesMax', limitSize, 'names and values of the headers', {
    default: 64 * 1024,
  }),
  option('message.limits.headersMax', limitCount, 'number of headers', { default: 100 }),
  option('message.limits.depthMax', limitCount, 'nesting of a JSON body', { default: 64 }),
  option('message.limits.keysMax', limitCount, 'object members in a JSON body', { default: 100_000 }),
]
