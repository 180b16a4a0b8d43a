import { identityDefaults } from '../../message/read-identities.ts'
import { codeOnly, from, fromOrPosition, fromText } from './code-kinds.ts'
import { section } from './kind.ts'
import { option } from './option.ts'
import { word } from './text-kinds.ts'

const missing = 'is missing: say at least which field is the message id'

const businessDigest = { ...codeOnly(fromText), refusesUndefined: true } as const

/** What makes two messages the same. */
export const identityOptions = [
  option('identity', section(missing), null, { missing }),
  option(
    'identity.id',
    fromOrPosition,
    'the message id: same id, same message; `position` only for logs whose records carry none',
    { missing: 'is missing: without a stable id no duplicate can be recognised' },
  ),
  option('identity.businessKey', from, 'one effect per business key, whatever the message id'),
  option('identity.businessDigest', businessDigest, null, {
    elsewhere: 'is a function and stays in TypeScript',
  }),
  option(
    'identity.orderKey',
    from,
    'messages of one order key are applied in order of arrival; needed by order `key`',
  ),
  option('identity.eventId', from, 'the event the message tells of'),
  option('identity.idempotencyKey', from, 'the key the sender gave the operation'),
  option('identity.aggregateId', from, 'the thing the message is about'),
  option('identity.aggregateVersion', from, 'its version'),
  option('identity.correlationId', from, 'what the message belongs to', {
    default: identityDefaults.correlationId,
    defaultText: null,
  }),
  option('identity.causationId', from, 'what caused it'),
  option('identity.type', from, 'its type', { default: identityDefaults.type, defaultText: null }),
  option('identity.producer', from, 'the program that sent it', {
    default: identityDefaults.producer,
    defaultText: null,
  }),
  option('identity.schemaVersion', from, 'the version of its form'),
  option('identity.idTime', word(['uuidv7', 'ulid']), 'the id itself tells when it was made'),
]
