import type { RunFacts } from '../drivers/postgres/evidence/read-campaigns.ts'
import type { Marker } from '../drivers/postgres/evidence/read-marker.ts'
import type { AuditAnswer, Event, Subject } from './explanation.ts'
import type { HeldStory } from './read-held.ts'
import type { ReceiptStory } from './read-receipt.ts'

export interface KnownFacts {
  readonly subject: Subject
  readonly marker: Marker | null
  readonly receipt: ReceiptStory | null
  readonly held: HeldStory
  readonly run: RunFacts | null
  /** In order of time. */
  readonly events: readonly Event[]
  readonly sinkRows: readonly string[]
  /** The time inside the id; null when it has none. */
  readonly idTime: Date | null
}

/** Where rows of sinks were not found. `explain` says what to pass for an answer. */
export const sinkRowsMissing = 'none requested or found'

/** The questions of an audit, each with its answer or the reason why it has none. Pure. */
export function answerAuditor(known: KnownFacts): readonly AuditAnswer[] {
  const { subject, marker, receipt, held, run, sinkRows, events } = known
  const row = held.rows.at(-1)
  const place = marker?.position ?? receipt?.facts.position ?? row?.position ?? null
  const unread = unreadText(place)
  const first = events.find(event => event.at !== null)?.at ?? null
  const settled = marker !== null && !unfinished.includes(marker.status)
  return [
    answer('source event id', subject.messageId, 'identity.id of the contract'),
    kept('event type', receipt?.facts.type, row?.messageType, known, unread),
    kept('event version', receipt?.facts.schemaVersion, row?.schemaVersion, known, unread),
    kept('event id', receipt?.facts.eventId, undefined, known, unread),
    kept('producer', receipt?.facts.producer, row?.producer, known, unread),
    kept('correlation id', receipt?.facts.correlationId, row?.correlationId, known, unread),
    kept('causation id', receipt?.facts.causationId, undefined, known, unread),
    kept('aggregate', aggregateOf(receipt?.facts), row && aggregateOf(row), known, unread),
    sourceTime(known, unread),
    receipt === null
      ? answer('ingested at', first?.toISOString(), 'its first trace')
      : answer('ingested at', earlier(first, receipt.at).toISOString(), 'its receipt'),
    answer(
      'processed at',
      settled ? marker.at.toISOString() : null,
      settled ? 'the marker' : 'it is not finished',
    ),
    answer(
      'transform version',
      run?.handlerVersion,
      run === null ? 'no run is recorded' : `run ${run.id}, ${run.instance}`,
    ),
    answer('consumer', `${subject.consumer}, generation ${subject.generation}`, 'the marker'),
    answer(
      'sink rows',
      sinkRows.length === 0 ? null : sinkRows.join('; '),
      sinkRows.length === 0 ? sinkRowsMissing : 'the tables of the contract, or the row in the question',
    ),
    answer('decision', marker?.status ?? row?.state, marker === null ? 'the held row' : 'the marker'),
    answer('reason', reasonOf(known), isOfMarker(marker) ? 'the marker' : 'the last event with a reason'),
    answer('replay or backfill', replayOf(known), run === null ? 'no run is recorded' : `run ${run.id}`),
    answer('position', place, place === null ? 'queues have none' : 'the marker'),
  ]
}

const unreadText = (place: string | null) =>
  place === null
    ? 'not kept: the consumer keeps no receipts, and it was never set aside'
    : `not kept: the consumer keeps no receipts, and it was never set aside; read the record at ${place}`

/** From the receipt, else from the held row. */
function kept(
  asked: string,
  inReceipt: string | null | undefined,
  inRow: string | null | undefined,
  { receipt, held }: KnownFacts,
  unread: string,
): AuditAnswer {
  if (inReceipt != null || inRow === undefined) {
    const from = receipt === null ? unread : inReceipt == null ? 'the message has none' : 'its receipt'
    return answer(asked, inReceipt, from)
  }
  return answer(asked, inRow, held.rows.length === 0 ? unread : 'the held row')
}

function aggregateOf(
  of: { readonly aggregateId?: string | null; readonly aggregateVersion?: string | null } | undefined,
): string | null {
  const { aggregateId = null, aggregateVersion = null } = of ?? {}
  return aggregateId === null || aggregateVersion === null
    ? aggregateId
    : `${aggregateId}, version ${aggregateVersion}`
}

const earlier = (one: Date | null, other: Date) => (one !== null && one < other ? one : other)

const unfinished = ['stored', 'waiting', 'parked']

const answer = (asked: string, value: string | null | undefined, from: string): AuditAnswer => ({
  asked,
  answer: value ?? null,
  from,
})

function sourceTime({ receipt, held, idTime }: KnownFacts, unread: string): AuditAnswer {
  if (receipt?.occurredAt != null)
    return answer('source time', receipt.occurredAt.toISOString(), 'the message itself, in its receipt')
  if (receipt?.sentAt != null)
    return answer('source time', receipt.sentAt.toISOString(), "the broker's timestamp, in its receipt")
  const sent = held.rows.find(row => row.sentAt !== null)?.sentAt
  if (sent != null)
    return answer('source time', sent.toISOString(), "the broker's timestamp, in the held row")
  if (idTime !== null) return answer('source time', idTime.toISOString(), 'the id itself')
  return answer('source time', null, receipt === null ? unread : 'the message has none')
}

const isOfMarker = (marker: Marker | null) => marker?.because != null || marker?.status === 'applied'

function reasonOf({ marker, events }: KnownFacts): string | null {
  if (marker?.because != null) return marker.because
  if (marker?.status === 'applied') return 'it was new'
  return events.findLast(event => event.what.startsWith('held as') || said.has(event.what))?.text ?? null
}

const said = new Set(['parked', 'dead', 'quarantined', 'skipped', 'deleted', 'rebuilt'])

function replayOf({ run, events }: KnownFacts): string | null {
  const replayed = events.filter(event => event.what === 'redrive moved').length
  const mode =
    run === null ? null : run.campaignId === null ? run.mode : `${run.mode}, campaign ${run.campaignId}`
  if (replayed === 0) return mode
  return `${mode ?? 'unknown mode'}, redriven ${replayed} time${replayed === 1 ? '' : 's'}`
}
