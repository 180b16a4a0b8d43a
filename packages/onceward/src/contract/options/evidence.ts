import { section } from './kind.ts'
import { computed, option } from './option.ts'
import { flag, word } from './text-kinds.ts'

/** What is kept about messages that simply succeeded. */
export const evidenceOptions = [
  option('evidence', section()),
  option(
    'evidence.receipts',
    flag,
    'a receipt for each message: type, version, producer, correlation, causation, event id, aggregate, position and times',
    {
      default: computed(get => ['money', 'regulatory'].includes(get('risk'))),
      defaultText: '`true` for risk money and regulatory, else `false`',
    },
  ),
  option('evidence.keep', word(['facts', 'payload']), 'whether receipts have the bytes of the message too', {
    default: 'facts',
  }),
]
