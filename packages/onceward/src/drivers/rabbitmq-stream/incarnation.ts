import { randomBytes } from 'node:crypto'
import { OncewardError } from '../../errors.ts'
import { type AskAgain, askAgain } from './confirm-extent.ts'
import { queryNodes, queryOffset, queryStats, storeOffset } from './wire/commands.ts'
import type { StreamConnection } from './wire/connection.ts'

/**
 * Reads the incarnation of a stream. RabbitMQ gives streams no id that a client can see. A stream that was
 * deleted and created again looks like the old one once it is long enough. But the broker keeps a number per
 * reference inside the stream, and loses it with the stream. So each group stores a random number there under
 * its own reference. The number is as large as an offset could be only after millions of years, because
 * retention drops stored offsets below the first one. Any node forwards the query to the leader.
 */
export async function readIncarnation(
  connection: StreamConnection,
  group: string,
  stream: string,
): Promise<string | null> {
  const mark = await queryOffset(connection, referenceOf(group), stream)
  return mark === null ? null : mark.toString(16)
}

/** The leader of a stream: a connection to its node, and the node's name. */
export interface StreamLeader {
  readonly connection: StreamConnection
  readonly node: string
}

/**
 * Any node forwards a mark to the leader; null when the leader itself is unreachable, as behind a load
 * balancer.
 */
type MarkedBy = StreamLeader | { readonly connection: StreamConnection; readonly node: null }

/**
 * Writes a mark and reads it back; the mark in the stream counts, also one of another process. Resolves once
 * the mark survives the loss of the leader, if that can be verified.
 */
export async function markIncarnation(
  leader: MarkedBy,
  group: string,
  stream: string,
  timing?: AskAgain,
): Promise<string> {
  const mark = (randomBytes(8).readBigUInt64BE() >> 2n) | (1n << 62n)
  return writeMark(leader, group, stream, mark, timing)
}

/**
 * Resolves once the leader has committed a write that changes nothing. A leader that lost contact with the
 * others cannot.
 */
export async function proveLeader(
  leader: StreamLeader,
  group: string,
  stream: string,
  incarnation: string,
  timing?: AskAgain,
): Promise<void> {
  await writeMark(leader, group, stream, BigInt(`0x${incarnation}`), timing)
}

async function writeMark(
  leader: MarkedBy,
  group: string,
  stream: string,
  mark: bigint,
  timing: AskAgain = askAgain,
): Promise<string> {
  storeOffset(leader.connection, referenceOf(group), stream, mark)
  const incarnation = await readIncarnation(leader.connection, group, stream)
  if (incarnation === null) {
    throw new OncewardError(
      'configuration',
      `The broker stores no offsets for this user in stream ${stream}, but a consumer's position needs them. Nothing was consumed. Give the user write permission on the stream.`,
    )
  }
  if (leader.node !== null) await untilCommitted(leader, stream, timing)
  return incarnation
}

/** A leader answers from its log, but only records that a majority has survive the loss of the leader. */
async function untilCommitted(
  { connection, node }: StreamLeader,
  stream: string,
  timing: AskAgain,
): Promise<void> {
  const beganMs = timing.nowMs()
  const { lastChunk } = await queryStats(connection, stream)
  while ((await queryStats(connection, stream)).committedChunk < lastChunk) {
    if (timing.nowMs() - beganMs >= timing.unservedMs)
      throw new Error(
        `stream ${stream} cannot be written to: its leader cannot reach a majority of its nodes`,
      )
    await timing.pause(timing.everyMs)
  }
  const { leader } = await queryNodes(connection, stream)
  if (leader !== node) throw new Error(`stream ${stream} now has another leader`)
}

/** The suffix is stored in streams, so it never changes. */
function referenceOf(group: string): string {
  return `${group}.life`
}
