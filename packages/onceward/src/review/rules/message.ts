import type { Consumer } from '../../contract/define-consumer.ts'
import type { Rule } from '../rule.ts'

export const messageRules: readonly Rule<Consumer>[] = [
  {
    id: 'OW141',
    severity: 'warning',
    title: 'Messages are validated before they are handled',
    reason:
      'A body that decodes but has another shape reaches the handler, which fails somewhere inside, or writes nulls.',
    fix: 'Give message a Standard Schema (Zod, Valibot, ArkType): what does not fit is set aside with the reason.',
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
    reason: 'A message of a version this code does not know is handled as if it were known.',
    fix: 'List the versions in message.versions; others are parked unread, and replayed once the code knows them.',
    judge: ({ identity, message }) =>
      identity.schemaVersion !== undefined && message.versions === undefined
        ? 'identity.schemaVersion without message.versions'
        : null,
  },
  {
    id: 'OW143',
    severity: 'note',
    title: 'Unknown types are not guessed',
    reason: 'A message of another type on the same queue is handled as if it were one of ours.',
    fix: 'List the types in message.types; others are parked unread.',
    judge: ({ identity, message }) =>
      identity.type !== undefined && message.types === undefined
        ? 'identity.type without message.types'
        : null,
  },
  {
    id: 'OW144',
    severity: 'warning',
    title: 'One message fits into what is held at a time',
    reason: 'A message as large as allowed would fill the budget of all deliveries alone.',
    fix: 'Raise batch.bytesMax, or lower message.limits.',
    judge: ({ message: { limits }, batch }) =>
      limits.bytesMax > batch.bytesMax
        ? `message.limits.bytesMax ${limits.bytesMax} is more than batch.bytesMax ${batch.bytesMax}`
        : null,
  },
]
