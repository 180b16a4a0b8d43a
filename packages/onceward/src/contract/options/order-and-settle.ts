import { section, unchecked } from './kind.ts'
import { computed, option } from './option.ts'
import { text, word } from './text-kinds.ts'

/** Order, deduplication, and when deliveries are acknowledged. */
export const orderOptions = [
  option('order', word(['none', 'key', 'partition']), 'which messages are applied in order', {
    default: 'none',
  }),
  option('dedup', word(['marker', 'checkpoint', 'version']), 'how applied messages are recognised', {
    default: 'marker',
  }),
  option(
    'duplicates',
    word(['skip']),
    'duplicates are always skipped and counted; the key only documents this',
    { fileOnly: true },
  ),
  option('settle', section()),
  option(
    'settle.when',
    word(['after effect', 'with effect', 'before effect']),
    'when deliveries are acknowledged',
    {
      default: computed(get => (get('dedup') === 'checkpoint' ? 'with effect' : 'after effect')),
      defaultText: '`after effect`; `before effect` loses the messages in flight when a process dies',
    },
  ),
  option(
    'settle.lossAcceptable',
    unchecked(text()),
    'the reason why losing messages is acceptable; required by `before effect`',
    { default: '', defaultText: null },
  ),
]
