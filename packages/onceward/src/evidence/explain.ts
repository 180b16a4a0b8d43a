import type { KnownConsumer } from '../drivers/postgres/evidence/find-subjects.ts'
import { readRuns } from '../drivers/postgres/evidence/read-campaigns.ts'
import { findEffects, rowsMax, windowSeconds } from '../drivers/postgres/evidence/read-ledger.ts'
import { assertUsable } from '../drivers/postgres/migrate.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import type { Absence, ExplainOptions, ExplainQuestion, Explanation, Story, Subject } from './explanation.ts'
import { findRow } from './find-row.ts'
import { businessSubjects, heldSubjects, readConsumers, storedId, subjectsOf } from './find-subjects.ts'
import { readAbsence } from './read-absence.ts'
import { ledgerEvents } from './read-effects.ts'
import { readAggregate } from './read-traces.ts'
import { type Lead, tellStory } from './tell-story.ts'

/** Messages that are told in full; an aggregate may have thousands. */
const storiesMax = 20

/** What a question led to, before any story is told. */
interface Found {
  readonly storedAs: string | null
  /** The message asked about, if one is known by name. */
  readonly messageId: string | null
  readonly subjects: readonly Subject[]
  readonly lead: Lead | null
  /** Consumers to be asked why they know nothing. */
  readonly asked: readonly KnownConsumer[]
}

/**
 * Why something is as it is: every trace of the messages behind it. Reads only, and never by going through a
 * table of ours.
 */
export async function explain(
  pool: SqlPool,
  question: ExplainQuestion,
  options: ExplainOptions = {},
): Promise<Explanation> {
  await assertUsable(pool)
  const consumers = await readConsumers(pool, options.consumer)
  const limits: string[] = []
  const found = await find(pool, question, consumers, options, limits)
  const stories: Story[] = []
  for (const subject of found.subjects.slice(0, storiesMax))
    stories.push(await tellStory(pool, subject, options, found.lead, limits))
  if (found.subjects.length > storiesMax)
    limits.push(
      `${found.subjects.length - storiesMax} more messages are not told: ask by --message, or with a version.`,
    )
  const known = new Set(found.subjects.map(({ consumerId }) => consumerId))
  const absences: Absence[] = []
  const asked = stories.length === 0 || options.consumer !== undefined ? found.asked : []
  for (const consumer of asked)
    if (!known.has(consumer.consumerId)) absences.push(await readAbsence(pool, consumer, found.messageId))
  if (stories.length > 0) limits.push(...generalLimits(options))
  return { question, storedAs: found.storedAs, stories, absences, limits: [...new Set(limits)] }
}

const keysAreFreed =
  'A message that ended without an effect gave its business key back: one that was ignored or rejected is found by its id only.'

function generalLimits({ contract }: ExplainOptions): string[] {
  return [
    `External effects are looked for in the ${windowSeconds} seconds after a message was claimed, among ${rowsMax} of all messages: one that was asked for later, by a slow batch, is found by --effect.`,
    'Repeats are noted a thousand a second at most, and those a process had not written when it died are in the metrics only.',
    ...(contract === undefined
      ? ['Without --contract the tables of effects, and what was published, are not looked at.']
      : []),
    ...(Object.values(contract?.effect?.publish ?? {}).some(({ evidence }) => evidence !== true)
      ? ['What was published is known only while it is in the outbox, except to targets with evidence: true.']
      : []),
  ]
}

async function find(
  pool: SqlPool,
  question: ExplainQuestion,
  consumers: readonly KnownConsumer[],
  options: ExplainOptions,
  limits: string[],
): Promise<Found> {
  switch (question.by) {
    case 'message':
      return ofMessage(pool, storedId(question.id, 'id'), question.id, consumers, null)
    case 'business key': {
      const key = storedId(question.key, 'business key')
      const subjects = await businessSubjects(pool, key, consumers)
      if (subjects.length === 0) limits.push(keysAreFreed)
      const storedAs = key === question.key ? null : key
      return { storedAs, messageId: null, subjects, lead: null, asked: consumers }
    }
    case 'aggregate':
      return ofAggregate(pool, question.id, question.version, consumers, options, limits)
    case 'effect':
      return ofEffect(pool, question.key, question.target, consumers, options, limits)
    case 'row':
      return ofRow(pool, question, consumers)
  }
}

async function ofMessage(
  pool: SqlPool,
  messageId: string,
  given: string,
  consumers: readonly KnownConsumer[],
  lead: Lead | null,
): Promise<Found> {
  const subjects = await subjectsOf(pool, messageId, consumers)
  return { storedAs: messageId === given ? null : messageId, messageId, subjects, lead, asked: consumers }
}

async function ofRow(
  pool: SqlPool,
  question: Extract<ExplainQuestion, { by: 'row' }>,
  consumers: readonly KnownConsumer[],
): Promise<Found> {
  const { table, messageId, runId } = await findRow(pool, question)
  const key = typeof question.key === 'string' ? question.key : JSON.stringify(question.key)
  const lead = { events: [], rows: [`${table} ${key}`] }
  if (messageId === null) return { storedAs: null, messageId: null, subjects: [], lead, asked: [] }
  const run = runId === null ? undefined : (await readRuns(pool, [runId])).get(runId)
  const writer = consumers.filter(({ consumerId }) => consumerId === run?.consumerId)
  if (writer.length === 0) return ofMessage(pool, messageId, messageId, consumers, lead)
  return {
    storedAs: null,
    messageId,
    subjects: writer.map(known => ({ ...known, messageId })),
    lead,
    asked: [],
  }
}

async function ofEffect(
  pool: SqlPool,
  given: string,
  target: string | null,
  consumers: readonly KnownConsumer[],
  { consumer }: ExplainOptions,
  limits: string[],
): Promise<Found> {
  const key = storedId(given, 'effect key')
  const rows = await findEffects(pool, key, target, consumer)
  const lead = { events: await ledgerEvents(pool, rows), rows: [] }
  const subjects: Subject[] = []
  for (const row of rows) {
    const named = consumers.filter(known => known.consumer === row.consumer)
    const traced = await subjectsOf(pool, row.message_id, named)
    subjects.push(
      ...(traced.length > 0
        ? traced
        : named.slice(-1).map(known => ({ ...known, messageId: row.message_id }))),
    )
  }
  if (rows.length === 0)
    limits.push('No effect was ever asked for under this key, or it was completed and removed for its age.')
  return {
    storedAs: key === given ? null : key,
    messageId: null,
    subjects,
    lead,
    asked: rows.length === 0 ? consumers : [],
  }
}

async function ofAggregate(
  pool: SqlPool,
  id: string,
  version: string | null,
  consumers: readonly KnownConsumer[],
  { contract }: ExplainOptions,
  limits: string[],
): Promise<Found> {
  const subjects = new Map<string, Subject>()
  const add = (subject: Subject) => subjects.set(`${subject.consumerId} ${subject.messageId}`, subject)
  const rows: string[] = []
  for (const trace of contract?.effect?.apply?.traces?.() ?? []) {
    if (trace.key === null) continue
    for (const row of (await readAggregate(pool, trace, id, contract!.name, limits)) ?? []) {
      if (version !== null && row.version !== version) continue
      rows.push(`${trace.table} ${row.key}${row.version === null ? '' : ` at version ${row.version}`}`)
      if (row.message === null) continue
      const own = consumers.filter(({ consumer }) => consumer === contract!.name)
      for (const subject of await subjectsOf(pool, row.message, own)) add(subject)
    }
  }
  if (contract === undefined)
    limits.push(
      'Markers do not name aggregates: give --contract, whose tables do. What is held under this order key is shown.',
    )
  if (version === null || contract === undefined)
    for (const subject of await heldSubjects(pool, id, consumers)) add(subject)
  return {
    storedAs: null,
    messageId: null,
    subjects: [...subjects.values()],
    lead: { events: [], rows },
    asked: [],
  }
}
