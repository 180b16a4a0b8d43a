import { defineConsumer, projection, type SqlTransaction } from 'onceward'
import { topic } from 'onceward/kafka'
import { CaseEvent } from './messages.ts'
import { readSettings, type Settings } from './settings.ts'

export function caseProjection(settings: Settings) {
  return defineConsumer<CaseEvent, SqlTransaction>({
    name: 'case_projection',
    generation: settings.generation,
    owner: 'case platform team',
    risk: 'projection',
    source: topic(settings.topic, {
      group: `${settings.group}-v${settings.generation}`,
      start: 'earliest',
      sessionTimeoutMs: settings.sessionTimeoutMs,
    }),
    message: CaseEvent,
    identity: {
      id: m => m.eventId,
      // A second event for the same step of a case is a duplicate if its content is the same, otherwise a
      // conflict.
      businessKey: m => `${m.caseId}/${m.caseVersion}`,
      businessDigest: m => [m.eventType, m.newState, m.occurredAt],
      orderKey: m => m.caseId,
      aggregateId: m => m.caseId,
      aggregateVersion: m => m.caseVersion,
      type: m => m.eventType,
    },
    order: 'key',
    failure: { attemptsMax: 5, delayMs: 200, deadLetter: settings.deadLetters },

    effect: {
      apply: projection<CaseEvent>({
        table: 'case_projection',
        rebuildTable: 'case_projection_rebuilt',
        key: { case_id: 'caseId' },
        // The guard: the version only increases, in any order of arrival.
        version: { version: 'caseVersion' },
        columns: { state: 'newState', occurred_at: 'occurredAt', event_id: 'eventId' },
        gap: 'accept latest',
        // The history of the row, written with it: only for events that moved it.
        async after({ message, result, tx }) {
          const { eventId, caseId, newState } = message
          await tx.query('insert into case_move values ($1, $2, $3, $4, $5, $6)', [
            settings.generation,
            eventId,
            caseId,
            result.from,
            result.version,
            newState,
          ])
        },
      }),
    },
  })
}

export default caseProjection(readSettings())
