import type { Risk } from '../contract.ts'
import { duration } from './amount-kinds.ts'
import { section } from './kind.ts'
import { computed, option } from './option.ts'
import { word } from './text-kinds.ts'

const term = duration({ examples: "'36h', '30d' or '7y'" })

/**
 * Money is audited for years, a projection can be rebuilt, telemetry matters as long as its windows may still
 * change.
 */
const markersByRisk: Record<Risk, string> = {
  money: '7y',
  regulatory: '10y',
  notification: '90d',
  projection: '30d',
  telemetry: '14d',
  'low value': '7d',
}

const parksOldMessages: ReadonlySet<Risk> = new Set(['money', 'regulatory', 'notification'])
const asMarkers = computed(get => get('retention.markers'))
const atLeastMarkers = { default: asMarkers, defaultText: 'and least: as long as markers' }
const likeMarkers = { default: asMarkers, defaultText: ': as long as markers' }

/** How long what is done is remembered. */
export const retentionOptions = [
  option('retention', section()),
  option('retention.markers', term, 'how long a repeated message is recognised', {
    default: computed(get => markersByRisk[get('risk')]),
    defaultText: null,
  }),
  option('retention.businessKeys', term, 'business keys', atLeastMarkers),
  option('retention.effects', term, 'completed external effects', atLeastMarkers),
  option('retention.notes', term, 'what was said of messages that were not simply applied', {
    default: asMarkers,
    defaultText: null,
  }),
  option('retention.attempts', term, 'failed attempts', atLeastMarkers),
  option('retention.deadLetters', term, 'dead letters and quarantined messages', {
    defaultText: ': never removed',
  }),
  option(
    'retention.suppressedEffects',
    term,
    'what campaigns that are over would have asked for',
    likeMarkers,
  ),
  option('retention.heldActions', term, 'what people did to messages that are held no more', likeMarkers),
  option('retention.sourceKeeps', term, 'longest time after which the source may hand a message over again'),
  option('retention.action', word(['delete', 'archive']), 'what happens to what is forgotten', {
    default: 'delete',
  }),
  option(
    'retention.behindHorizon',
    word(['park', 'apply']),
    'what happens to a message older than the markers that are left',
    {
      default: computed(get => (parksOldMessages.has(get('risk')) ? 'park' : 'apply')),
      defaultText: 'by risk',
    },
  ),
  option(
    'retention.partitions',
    word(['daily']),
    'a table for each day of the ids, dropped when all of it may be forgotten. Needs `identity.idTime`',
    { defaultText: ': one table' },
  ),
]
