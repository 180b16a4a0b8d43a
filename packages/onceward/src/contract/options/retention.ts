import { isRecord } from '../check-values.ts'
import type { Risk } from '../contract.ts'
import { durationMs } from '../duration.ts'
import { duration } from './amount-kinds.ts'
import { record, section } from './kind.ts'
import { computed, option } from './option.ts'
import { text, word } from './text-kinds.ts'

const term = duration({ examples: "'36h', '30d' or '7y'" })

/**
 * Money is audited for years, a projection can be rebuilt, and telemetry matters only while its windows may
 * still change.
 */
const markersByRisk: Record<Risk, string> = {
  money: '7y',
  regulatory: '10y',
  notification: '90d',
  projection: '30d',
  telemetry: '14d',
  'low value': '7d',
}

/** A window of the declared effect may be longer than the term of the risk. */
const longest = (term: string, repeatsMs = 0) => (durationMs(term)! < repeatsMs ? repeatsMs : term)

const parksOldMessages: ReadonlySet<Risk> = new Set(['money', 'regulatory', 'notification'])

/** Only an effect that recognises its repeats may be applied again unchecked. */
const behindHorizon = computed(get =>
  get('effect.apply')?.remembers === true && !parksOldMessages.has(get('risk')) ? 'apply' : 'park',
)
const asMarkers = computed(get => get('retention.markers'))
const atLeastMarkers = { default: asMarkers, defaultText: 'and minimum: as long as markers' }
const likeMarkers = { default: asMarkers, defaultText: ': as long as markers' }

/** How long records are kept. */
export const retentionOptions = [
  option('retention', section()),
  option('retention.markers', term, 'markers: how long a duplicate is recognised', {
    default: computed(get => longest(markersByRisk[get('risk')], get('effect.apply')?.repeatsMs)),
    defaultText: null,
  }),
  option('retention.businessKeys', term, 'business keys', atLeastMarkers),
  option('retention.effects', term, 'completed external effects', atLeastMarkers),
  option('retention.notes', term, 'recorded reasons of messages that were not simply applied', {
    default: asMarkers,
    defaultText: null,
  }),
  option('retention.attempts', term, 'failed attempts', atLeastMarkers),
  option('retention.deadLetters', term, 'dead letters and quarantined messages', {
    defaultText: ': never removed',
  }),
  option('retention.receipts', term, 'receipts, by whole days of arrival', likeMarkers),
  option('retention.suppressedEffects', term, 'effects that finished campaigns suppressed', likeMarkers),
  option(
    'retention.heldActions',
    term,
    "operators' actions on messages that are no longer held",
    likeMarkers,
  ),
  option(
    'retention.sourceKeeps',
    term,
    'longest time after which the source may redeliver a message, if the source cannot report it',
  ),
  option('retention.action', word(['delete', 'archive']), 'what happens to expired rows', {
    default: 'delete',
  }),
  option(
    'retention.behindHorizon',
    word(['park', 'apply']),
    'what happens to a message older than the remaining markers',
    {
      default: behindHorizon,
      defaultText:
        '`apply` for a projection whose risk is not money, regulatory or notification, else `park`',
    },
  ),
  option(
    'retention.partitions',
    word(['daily']),
    'one table of markers per day of the ids, dropped when all of them have expired. Needs `identity.idTime`',
    { defaultText: ': one table' },
  ),
  option(
    'retention.tenantSeparator',
    text('must be one of / : | # ~ . _ - @', one => /^[/:|#~._@-]$/.test(one)),
    'the character between the tenant and the rest of a message id, as in `acme/4711`',
    { defaultText: ': ids name no tenant' },
  ),
  option(
    'retention.tenants',
    record('must be an object', isRecord, (name, place, wrong) => {
      if (name.trim() === '' || name === 'sha256') wrong(place, 'is not the name of a tenant')
    }),
  ),
  option(
    'retention.tenants.*',
    term,
    'tenant → how long its rows are kept, in place of the other terms. Receipts are not concerned',
  ),
]
