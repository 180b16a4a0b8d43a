import { section, unchecked } from './kind.ts'
import { computed, option } from './option.ts'
import { text, word } from './text-kinds.ts'

/** In which order, what remembers, and when the source is told. */
export const orderOptions = [
  option('order', word(['none', 'key', 'partition']), 'what is kept in order', { default: 'none' }),
  option('dedup', word(['marker', 'checkpoint', 'version']), 'what remembers that a message was applied', {
    default: 'marker',
  }),
  option(
    'duplicates',
    word(['skip']),
    'what happens to a duplicate: it is skipped and counted, always. For readers of the file',
    { fileOnly: true },
  ),
  option('settle', section()),
  option('settle.when', word(['after effect', 'with effect', 'before effect']), 'when the source is told', {
    default: computed(get => (get('dedup') === 'checkpoint' ? 'with effect' : 'after effect')),
    defaultText: '`after effect`; `before effect` loses what is in flight',
  }),
  option(
    'settle.lossAcceptable',
    unchecked(text()),
    'why losing messages is acceptable; needed by `before effect`',
    { default: '', defaultText: null },
  ),
]
