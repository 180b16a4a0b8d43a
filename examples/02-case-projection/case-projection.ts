import { defineConsumer, type SqlTransaction } from 'onceward'
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
    // 30 days, by its risk; compared with what the topic keeps at every start.
    retention: {},
    failure: { attemptsMax: 5, delayMs: 200, deadLetter: settings.deadLetters },

    async handle({ message, tx, mode }) {
      const { eventId, caseId, caseVersion, newState, occurredAt } = message
      const table = mode === 'rebuild' ? 'case_projection_rebuilt' : 'case_projection'
      const before = await tx.query<{ version: string }>(`select version from ${table} where case_id = $1`, [
        caseId,
      ])
      const found = before.rows.length === 0 ? null : Number(before.rows[0]!.version)
      // The guard: the version only increases, in any order of arrival.
      const { rowCount } = await tx.query(
        `insert into ${table} as held (case_id, version, state, occurred_at, event_id, moves)
         values ($1, $2, $3, $4, $5, 1)
         on conflict (case_id) do update
         set version = excluded.version, state = excluded.state, occurred_at = excluded.occurred_at,
             event_id = excluded.event_id, moves = held.moves + 1
         where held.version < excluded.version`,
        [caseId, caseVersion, newState, occurredAt, eventId],
      )
      const kind = rowCount === 0 ? 'stale' : caseVersion > (found ?? 0) + 1 ? 'gap' : null
      if (kind === null) return
      await tx.query('insert into case_note values ($1, $2, $3, $4, $5, $6)', [
        settings.generation,
        eventId,
        caseId,
        caseVersion,
        found,
        kind,
      ])
    },
  })
}

export default caseProjection(readSettings())
