import { assertUsable } from '../drivers/postgres/assert-usable.ts'
import type { KnownConsumer } from '../drivers/postgres/evidence/find-subjects.ts'
import { readRuns } from '../drivers/postgres/evidence/read-campaigns.ts'
import { findEffects } from '../drivers/postgres/evidence/read-ledger.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import { sinkRowsMissing } from './answer-auditor.ts'
import { buildStory, type Lead } from './build-story.ts'
import type { Absence, ExplainOptions, ExplainQuestion, Explanation, Story, Subject } from './explanation.ts'
import { findRow } from './find-row.ts'
import { businessSubjects, heldSubjects, readConsumers, storedId, subjectsOf } from './find-subjects.ts'
import { readAbsence } from './read-absence.ts'
import { ledgerEvents } from './read-effects.ts'
import { readAggregate } from './read-traces.ts'

/** Messages that are explained in full; an aggregate may have thousands. */
const storiesMax = 20

/** What a question led to, before any story is built. */
interface Found {
  readonly storedAs: string | null
  /** The message in the question, if it names one. */
  readonly messageId: string | null
  readonly subjects: readonly Subject[]
  readonly lead: Lead | null
  /** Consumers whose missing traces must be explained. */
  readonly asked: readonly KnownConsumer[]
}

/**
 * Explains a message, key, effect or row by every trace of the messages behind it. Reads only, and never
 * scans a table of Onceward.
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
    stories.push(answered(await buildStory(pool, subject, options, found.lead, limits), question, options))
  if (found.subjects.length > storiesMax)
    limits.push(
      `${found.subjects.length - storiesMax} more messages are not shown: ask by --message, or with a version.`,
    )
  const known = new Set(found.subjects.map(({ consumerId }) => consumerId))
  const absences: Absence[] = []
  const asked = stories.length === 0 || options.consumer !== undefined ? found.asked : []
  for (const consumer of asked)
    if (!known.has(consumer.consumerId)) absences.push(await readAbsence(pool, consumer, found.messageId))
  if (stories.length > 0) limits.push(...generalLimits(options))
  return { question, storedAs: found.storedAs, stories, absences, limits: [...new Set(limits)] }
}

/** An answer asks for a contract or a row only where none was given. */
function answered(story: Story, { by }: ExplainQuestion, { contract }: ExplainOptions): Story {
  const asks = [contract === undefined ? 'pass --contract' : null, by === 'row' ? null : 'ask by --row']
  const open = asks.filter(ask => ask !== null).join(', or ')
  const from = open === '' ? 'none was found' : `none requested or found: ${open}`
  const answers = story.answers.map(one => (one.from === sinkRowsMissing ? { ...one, from } : one))
  return { ...story, answers }
}

const keysAreFreed =
  'A message that ended without an effect released its business key. An ignored or rejected message is found by its id only.'

function generalLimits({ contract }: ExplainOptions): string[] {
  return [
    'At most a thousand repeats per second are recorded. Repeats that a process had not written when it crashed are in the metrics only.',
    ...(contract === undefined
      ? ['Without --contract, the tables of effects and published messages are not searched.']
      : []),
    ...(Object.values(contract?.effect?.publish ?? {}).some(({ evidence }) => evidence !== true)
      ? [
          'Published messages are known only while they are in the outbox, except for targets with evidence: true.',
        ]
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
    limits.push('No effect was requested under this key, or retention removed it after completion.')
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
      'Markers do not name aggregates: pass --contract, whose tables do. Messages held under this order key are shown.',
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
