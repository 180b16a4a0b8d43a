import type { Consumer } from '../../contract/define-consumer.ts'
import type { Rule } from '../rule.ts'

const rereads = (consumer: Consumer) =>
  consumer.replay.modes.some(mode => mode !== 'forensic') && consumer.dedup === 'marker'

export const operationRules: readonly Rule<Consumer>[] = [
  {
    id: 'OW171',
    severity: 'note',
    title: 'The contract limits how far back campaigns may read',
    reason: 'Without replay.window no campaign is too old, and retention cannot be compared with it.',
    fix: "Set replay.window, as in window: '30d'.",
    judge: consumer =>
      rereads(consumer) && consumer.replay.windowMs === null && consumer.retention !== null
        ? 'retention without replay.window'
        : null,
  },
  {
    id: 'OW172',
    severity: 'warning',
    title: 'A rebuild knows its tables',
    reason: 'A rebuild of a handler without declared tables is refused when it is needed.',
    fix: 'List them in replay.tables, or remove rebuild from replay.modes.',
    judge: ({ replay, effect }) =>
      replay.modes.includes('rebuild') && replay.tables.length === 0 && effect?.apply?.tables === undefined
        ? "replay.modes has 'rebuild', replay.tables is empty"
        : null,
  },
  {
    id: 'OW173',
    severity: 'note',
    title: 'Rows can be traced to the code that wrote them',
    reason: "Every run is recorded with its handler version; 'unversioned' identifies no release.",
    fix: 'Set handlerVersion to the release or the commit.',
    judge: ({ handlerVersion }) =>
      handlerVersion === 'unversioned' ? 'the contract has no handlerVersion' : null,
  },
  {
    id: 'OW174',
    severity: 'note',
    title: 'A consumer of money can be traced across services',
    reason: 'Without a correlation id the trace of one operation ends at this consumer.',
    fix: 'Set identity.correlationId.',
    judge: ({ identity, risk }) =>
      identity.correlationId === undefined && (risk === 'money' || risk === 'regulatory')
        ? `risk '${risk}' without identity.correlationId`
        : null,
  },
]
