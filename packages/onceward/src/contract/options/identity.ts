import { identityDefaults } from '../../message/read-identities.ts'
import { codeOnly, from, fromOrPosition, fromText } from './code-kinds.ts'
import { section } from './kind.ts'
import { option } from './option.ts'
import { word } from './text-kinds.ts'

const missing = 'is missing: name at least the field that holds the message id'

const businessDigest = { ...codeOnly(fromText), refusesUndefined: true } as const

/** Where the identities of a message are read. */
export const identityOptions = [
  option('identity', section(missing), null, { missing }),
  option(
    'identity.id',
    fromOrPosition,
    'the message id: same id, same message; `position` for logs whose records have no id, `content` for such queues',
    { missing: 'is missing: without a stable id no duplicate can be recognised' },
  ),
  option(
    'identity.businessKey',
    from,
    'at most one effect per business key, even under different message ids',
  ),
  option('identity.businessDigest', businessDigest, null, {
    elsewhere: 'is a function and stays in TypeScript',
  }),
  option(
    'identity.orderKey',
    from,
    'messages of one order key are applied in order of arrival; needed by order `key`',
  ),
  option('identity.eventId', from, 'the event the message reports'),
  option(
    'identity.idempotencyKey',
    from,
    'the key the sender gave the operation: the default key of external effects',
  ),
  option('identity.aggregateId', from, 'the entity the message is about'),
  option('identity.aggregateVersion', from, 'the version of that entity'),
  option('identity.correlationId', from, 'the chain of work the message belongs to', {
    default: identityDefaults.correlationId,
    defaultText: null,
  }),
  option('identity.causationId', from, 'the message that caused this one'),
  option('identity.type', from, 'the message type', { default: identityDefaults.type, defaultText: null }),
  option('identity.producer', from, 'the program that sent it', {
    default: identityDefaults.producer,
    defaultText: null,
  }),
  option('identity.schemaVersion', from, 'the schema version of the message'),
  option(
    'identity.occurredAt',
    from,
    'when the event happened: ISO 8601 with a time zone, or milliseconds since 1970; kept in receipts',
  ),
  option(
    'identity.idTime',
    word(['uuidv7', 'ulid']),
    'the kind of message id that contains its creation time',
  ),
]
