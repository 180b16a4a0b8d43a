import type { Consumer } from '../../contract/define-consumer.ts'
import type { Rule } from '../rule.ts'

export const messageRules: readonly Rule<Consumer>[] = [
  {
    id: 'OW141',
    severity: 'warning',
    title: 'Messages are validated before they are handled',
    reason: 'A body that decodes but has another shape reaches the handler, which fails or writes nulls.',
    fix: 'Give message a Standard Schema (Zod, Valibot, ArkType): messages that do not match are set aside with the reason.',
    judge: ({ message, risk, effect }) =>
      message.schema === undefined &&
      effect?.apply === undefined &&
      risk !== 'telemetry' &&
      risk !== 'low value'
        ? 'message has no schema'
        : null,
  },
  {
    id: 'OW142',
    severity: 'note',
    title: 'Unknown versions are not guessed',
    reason: 'The handler treats a message of an unknown version as a known one.',
    fix: 'List the versions in message.versions; others are parked unread, and redriven once the code knows them.',
    judge: ({ identity, message }) =>
      identity.schemaVersion !== undefined && message.versions === undefined
        ? 'identity.schemaVersion without message.versions'
        : null,
  },
  {
    id: 'OW143',
    severity: 'note',
    title: 'Unknown types are not guessed',
    reason: 'The handler treats a message of another type on the same queue as one of its own.',
    fix: 'List the types in message.types; others are parked unread.',
    judge: ({ identity, message }) =>
      identity.type !== undefined && message.types === undefined
        ? 'identity.type without message.types'
        : null,
  },
  {
    id: 'OW144',
    severity: 'warning',
    title: 'One message fits into the byte budget of a consumer',
    reason: 'A message of the allowed size would use the budget of all deliveries.',
    fix: 'Raise batch.bytesMax, or lower message.limits.',
    judge: ({ message: { limits }, batch }) =>
      limits.bytesMax > batch.bytesMax
        ? `message.limits.bytesMax ${limits.bytesMax} is more than batch.bytesMax ${batch.bytesMax}`
        : null,
  },
]
