import { isRecord } from '../check-values.ts'
import { campaignModes } from '../words.ts'
import { duration } from './amount-kinds.ts'
import { inWords } from './in-words.ts'
import { record, section } from './kind.ts'
import { computed, option } from './option.ts'
import { text, texts, word, words } from './text-kinds.ts'

const tables = texts(
  'must list tables by name, without a schema: a rebuild puts its own schema first in the search path',
  { fits: table => /^[^.\0"]{1,63}$/.test(table), least: 1 },
)
const columns = texts('must list columns by name', {
  fits: column => /^[^\0"]{1,63}$/.test(column),
  least: 1,
})
const select = text(
  'must be one SELECT (or WITH … SELECT) that returns message_id, without a semicolon',
  one => /^\s*(select|with)\s/i.test(one) && !one.includes(';') && /message_id/i.test(one),
)

/** Campaigns and reconciliation. */
export const replayOptions = [
  option('replay', section()),
  option('replay.modes', words(campaignModes), 'campaign modes that operators may start; `[]` for none', {
    default: computed(get =>
      get('dedup') === 'checkpoint' ? ['forensic'] : ['replay', 'repair', 'forensic'],
    ),
    defaultText: 'replay, repair and forensic',
  }),
  option(
    'replay.window',
    duration({ examples: "'36h', '30d' or '7y'" }),
    'how far back a campaign may read',
    { defaultText: 'no limit' },
  ),
  option(
    'replay.effects',
    word(['with approval', 'never']),
    'whether an operator may approve that a campaign calls and publishes',
    { default: 'with approval' },
  ),
  option('replay.tables', tables, 'the tables a handler writes; a rebuild recreates them', {
    default: computed(() => []),
  }),
  option('replay.compare', record('must be an object, one entry per table', isRecord), null, {
    default: computed(() => ({})),
  }),
  option('reconcile', section("must be { effects: 'select … as message_id from …' }")),
  option(
    'reconcile.effects',
    select,
    'a SELECT that returns the `message_id` of every row written, for `onceward audit reconcile`',
    { missing: 'is missing: a SELECT that returns the message_id of every row written' },
  ),
  option('reconcile.covers', word(['all', 'some']), 'whether every applied message has a row', {
    default: 'all',
  }),
  option('reconcile.perMessage', word(['one', 'any']), 'whether a second row for a message is drift', {
    default: 'any',
  }),
  option(
    'reconcile.edited',
    select,
    'a SELECT that returns the `message_id` of rows changed after they were written',
  ),
  option(
    'replay.compare.*',
    section(names => `must be an object with ${inWords(names, 'or')}`),
  ),
  option('replay.compare.*.key', columns, 'columns that identify a row of a rebuilt table', {
    defaultText: 'its primary key',
  }),
  option('replay.compare.*.columns', columns, 'columns that must be equal before a swap', {
    defaultText: 'all',
  }),
  option('replay.compare.*.mayChange', columns, 'generated columns whose values a swap may change', {
    defaultText: 'none',
  }),
]
