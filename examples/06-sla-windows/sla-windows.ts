import { contribution, defineConsumer } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import { RequestAnswered } from './messages.ts'
import { readSettings, type Settings } from './settings.ts'

const minuteMs = 60_000

/** Answers, minutes and breaches by team and hour. */
export const slaHours = contribution<RequestAnswered>({
  facts: 'sla_fact',
  summary: 'sla_hour',
  window: { sizeMs: 60 * minuteMs, latenessMs: 15 * minuteMs, late: 'park' },
  at: m => m.answeredAt,
  key: m => m.team,
  eventId: m => m.eventId,
  values: { minutes: m => m.minutes, breaches: m => (m.breached ? 1 : 0) },
  corrects: m => m.corrects,
  withdraws: m => m.withdrawn === true,
})

export function slaWindows({ queue, leaseMs }: Settings) {
  return defineConsumer<RequestAnswered>({
    name: 'sla_windows',
    owner: 'service desk',
    risk: 'regulatory',
    source: postgresQueue(queue, { leaseMs }),
    message: RequestAnswered,
    identity: { id: m => m.messageId, eventId: m => m.eventId },
    // Lateness depends on the order of commits: two concurrent batches could make each other's facts late.
    batch: { inFlightMax: 1 },
    // By its risk. The queue is in the same database: its messages keep their markers.
    retention: {},
    effect: { apply: slaHours },
  })
}

export default slaWindows(readSettings())
