import { type RunFacts, readRuns } from '../drivers/postgres/evidence/read-campaigns.ts'
import { type Marker, readMarker } from '../drivers/postgres/evidence/read-marker.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import { answerAuditor } from './answer-auditor.ts'
import type { Event, ExplainOptions, Story, Subject, TimelineEntry } from './explanation.ts'
import { markerEvents } from './marker-events.ts'
import { readAbsence } from './read-absence.ts'
import { readCampaigns } from './read-campaigns.ts'
import { readLedger } from './read-effects.ts'
import { readHeld } from './read-held.ts'
import { readOutbox } from './read-outbox.ts'
import { readReceipt } from './read-receipt.ts'
import { timeInId } from './read-time.ts'
import { readTraces } from './read-traces.ts'
import { readTrouble } from './read-trouble.ts'

/** Events and rows that the question already found. */
export interface Lead {
  readonly events: readonly Event[]
  readonly rows: readonly string[]
}

/** All traces of one message at one consumer, in order of time. */
export async function buildStory(
  pool: SqlPool,
  subject: Subject,
  options: ExplainOptions,
  lead: Lead | null,
  limits: string[],
): Promise<Story> {
  const marker = await readMarker(pool, subject)
  const trouble = await readTrouble(pool, subject)
  const withPayload = options.payload === true
  const [receipt, held, ledger, outbox, campaigns, idTime] = await Promise.all([
    readReceipt(pool, subject, withPayload),
    readHeld(pool, subject, marker, trouble.heldIds, withPayload),
    readLedger(pool, subject, withPayload),
    readOutbox(pool, subject, trouble, options),
    readCampaigns(pool, subject),
    timeInId(pool, subject.messageId),
  ])
  const traced = await readTraces(pool, subject, options)
  limits.push(...held.limits, ...traced.limits)
  const known = [
    ...(receipt === null ? [] : [receipt.event]),
    ...(marker === null ? [] : markerEvents(marker)),
    ...trouble.events,
    ...held.events,
    ...ledger,
    ...outbox,
    ...campaigns,
    ...traced.events,
  ]
  const led = (lead?.events ?? []).filter(event => !known.some(one => sameEvent(one, event)))
  const events = inOrder([...known, ...led])
  const gone = marker === null && subject.dedup === 'marker' ? await purgeEvent(pool, subject, events) : null
  const runs = await readRuns(pool, [
    ...new Set([...events, ...(marker ? [marker] : [])].flatMap(one => one.runId ?? [])),
  ])
  const run = runOf(marker, events, runs)
  const sinkRows = [...new Set([...(lead?.rows ?? []), ...traced.rows])]
  const { consumer, generation, messageId } = subject
  const answers = answerAuditor({ subject, marker, receipt, held, run, events, sinkRows, idTime })
  const summary = summarise(subject, marker, gone, run, trouble, held.acts)
  const timeline = [...events, ...(gone === null ? [] : [gone])].map(event => entryOf(event, runs))
  return { consumer, generation, messageId, summary, answers, timeline }
}

/** Traces without a marker: the message is being retried, or retention removed the marker. */
async function purgeEvent(pool: SqlPool, subject: Subject, events: readonly Event[]): Promise<Event | null> {
  const at = events.find(event => event.at !== null)?.at ?? null
  const absence = await readAbsence(pool, subject, subject.messageId, { at })
  const purged = absence.facts.purgedBefore as Date | null
  if (purged === null || (at !== null && at >= purged)) return null
  return { at: null, what: 'marker purged', text: absence.text, facts: absence.facts }
}

/** The run that decided: the marker's, or that of the last event. */
function runOf(
  marker: Marker | null,
  events: readonly Event[],
  runs: ReadonlyMap<number, RunFacts>,
): RunFacts | null {
  const id = marker?.runId ?? events.findLast(event => event.runId != null)?.runId
  return id == null ? null : (runs.get(id) ?? null)
}

function inOrder(events: readonly Event[]): readonly Event[] {
  const ms = ({ at }: Event) => at?.getTime() ?? Number.POSITIVE_INFINITY
  return events.toSorted((a, b) => (ms(a) === ms(b) ? 0 : ms(a) - ms(b)))
}

const sameEvent = (one: Event, other: Event) =>
  one.what === other.what && one.text === other.text && one.at?.getTime() === other.at?.getTime()

function entryOf(
  { at, what, by, text, runId, facts }: Event,
  runs: ReadonlyMap<number, RunFacts>,
): TimelineEntry {
  const run = runId == null ? undefined : runs.get(runId)
  const process =
    run &&
    `${run.instance} (run ${run.id}, version ${run.handlerVersion}${run.mode === 'live' ? '' : `, ${run.mode}`})`
  return {
    at,
    what,
    by: by ?? process ?? null,
    text,
    facts: {
      ...facts,
      ...(run && {
        run: run.id,
        handlerVersion: run.handlerVersion,
        mode: run.mode,
        campaign: run.campaignId,
      }),
    },
  }
}

function summarise(
  { consumer, generation, messageId }: Subject,
  marker: Marker | null,
  gone: Event | null,
  run: RunFacts | null,
  { attempts, repeats }: { readonly attempts: number; readonly repeats: number },
  acts: number,
): string {
  const times = (count: number, what: string) =>
    count === 0 ? [] : [`${count} ${what}${count === 1 ? '' : 's'}`]
  const history = [
    ...times(attempts, 'failed attempt'),
    ...times(repeats, 'repeated delivery').map(text => text.replace(/deliverys$/, 'deliveries')),
    ...times(acts, 'operator action'),
  ]
  const state =
    marker !== null
      ? `is ${marker.status}, ${marker.at.toISOString()}`
      : gone !== null
        ? 'has traces here, and its marker was purged'
        : 'has traces here and no marker: it was not applied, or is being retried'
  const version =
    run === null
      ? ''
      : `, by version ${run.handlerVersion}${run.mode === 'live' ? '' : ` in mode ${run.mode}`}`
  const after = history.length === 0 ? '' : `, with ${history.join(', ')}`
  return `${messageId} at ${consumer}, generation ${generation}, ${state}${version}${after}.`
}
