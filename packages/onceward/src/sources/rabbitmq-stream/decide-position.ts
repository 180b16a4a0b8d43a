import type { Loss, Ownership, Position } from '../../contracts/source.ts'
import { OncewardError } from '../../errors.ts'
import { type Extent, lookAt, surveyExtent } from './extent.ts'
import { markLife, readLife } from './life.ts'
import { type StreamDeclaration, type StreamStart, startTimeMs } from './stream.ts'
import { queryOffset } from './wire/commands.ts'
import type { StreamConnection } from './wire/connection.ts'

/** What is known when a partition becomes ours. */
export interface Question {
  readonly connection: StreamConnection
  readonly declaration: StreamDeclaration
  readonly group: string
  readonly ownership: Ownership
  /** True when the broker's stored offset is the truth, not the store's position. */
  readonly brokerKnows: boolean
}

/** Where to read on (`isNew`: for the first time, or past an accepted loss), or what is gone. */
export type Decision = { readonly position: Position; readonly isNew: boolean } | { readonly loss: Loss }

/**
 * Decides where to read on. Asking the broker for an offset it does not have is no error to it: it silently begins at the nearest one it
 * has. So everything is checked before it is asked.
 */
export async function decidePosition(question: Question): Promise<Decision> {
  const { connection, group, ownership } = question
  const { partition, stored, resumeAt } = ownership
  const extent = await surveyExtent(connection, partition)
  const life = await readLife(connection, group, partition)
  // An accepted loss first: it may be the only thing known, and the stream may have been made again since.
  const known = resumeAt ?? stored
  if (known === null) return begin(question, extent, life)
  if (life !== known.incarnation) {
    const incarnation = life ?? (await markLife(connection, group, partition))
    return {
      loss: {
        partition,
        from: known,
        to: { incarnation, next: String(extent.first) },
        records: null,
        reason: 'the stream was deleted and made again: what it held after this position is gone',
      },
    }
  }
  if (resumeAt !== null) return within(resumeAt, extent, partition, true)
  const told = question.brokerKnows ? await queryOffset(connection, group, partition) : null
  const next = told === null ? known.next : String(told + 1n)
  return within({ incarnation: life, next }, extent, partition, false)
}

/** A consumer that never began here. */
async function begin(question: Question, extent: Extent, life: string | null): Promise<Decision> {
  const { connection, group, ownership, brokerKnows, declaration } = question
  const { partition } = ownership
  const told = await queryOffset(connection, group, partition)
  if (told === null || !brokerKnows) assertStart(declaration, told)
  const incarnation = life ?? (await markLife(connection, group, partition))
  if (told !== null && brokerKnows) {
    return within({ incarnation, next: String(told + 1n) }, extent, partition, true)
  }
  const next = await startOffset(connection, partition, declaration.start!, extent)
  return { position: { incarnation, next: String(next) }, isNew: true }
}

function assertStart({ stream, start, group }: StreamDeclaration, told: bigint | null): void {
  if (start !== undefined) return
  const known =
    told === null
      ? ''
      : ` The broker has a stored offset, ${told}, for this group, but the contract keeps positions in the store.`
  throw new OncewardError(
    'configuration',
    `This consumer never began to read stream ${stream}${group === undefined ? '' : ` as ${group}`}, and the contract does not say where to begin.${known} Nothing was consumed. Write start: 'first' to take everything that is still there, start: 'next' for only what comes from now on, or an offset or a timestamp.`,
  )
}

async function startOffset(
  connection: StreamConnection,
  stream: string,
  start: StreamStart,
  { first, end, lastChunk }: Extent,
): Promise<number> {
  if (start === 'first') return first
  if (start === 'next') return end
  if (start === 'last') return lastChunk ?? end
  if (typeof start === 'object') {
    const found = await lookAt(connection, stream, { timestampMs: startTimeMs(start) })
    return found?.firstOffset ?? end
  }
  if (start >= first && start <= end) return start
  throw new OncewardError(
    'configuration',
    `Stream ${stream} cannot be read from offset ${start}: it reaches from ${first} to ${end}. Nothing was consumed. Write a start that is in it, or 'first'.`,
  )
}

function within(position: Position, { first, end }: Extent, partition: string, isNew: boolean): Decision {
  const next = Number(position.next)
  if (next >= first && next <= end) return { position, isNew }
  const isPassed = next < first
  const to = { incarnation: position.incarnation, next: String(isPassed ? first : end) }
  const records = isPassed ? first - next : null
  const reason = isPassed
    ? `retention removed offsets ${next} to ${first - 1} before they were read`
    : `the position is ${next}, but the stream ends at ${end}: its newest records are gone, or it is another one`
  return { loss: { partition, from: position, to, records, reason } }
}

/** What `receive` rejects with once a loss is on record. */
export function recordsLost(loss: Loss): OncewardError {
  const { partition, from, to, records, reason } = loss
  const count =
    records === null ? 'How many records are gone is not known' : `At most ${records} records are gone`
  const goOn =
    to === null
      ? 'There is nothing to go on from: make the stream again, or retire the consumer.'
      : `Restore them if you can; otherwise accept the loss, and the consumer goes on at ${to.next}.`
  return new OncewardError(
    'records_lost',
    `${partition}@${from.next}: ${reason}. ${count}. Nothing was settled; the gap is on record. ${goOn}`,
    { details: { ...loss } },
  )
}
