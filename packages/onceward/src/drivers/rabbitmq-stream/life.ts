import { randomBytes } from 'node:crypto'
import { OncewardError } from '../../errors.ts'
import { type AskAgain, askAgain } from './confirm-extent.ts'
import { queryNodes, queryOffset, queryStats, storeOffset } from './wire/commands.ts'
import type { StreamConnection } from './wire/connection.ts'

/**
 * Which life of a stream this is. RabbitMQ gives streams no id that a client can see, and one that was
 * deleted and made again looks like the old one once it is long enough. But it keeps a number per reference
 * inside the stream, and loses it with the stream. So each group leaves a random number there under a
 * reference of its own: as large as only an offset after millions of years could be, because retention drops
 * stored offsets below the first one. Whichever node is asked, the leader answers.
 */
export async function readLife(
  connection: StreamConnection,
  group: string,
  stream: string,
): Promise<string | null> {
  const mark = await queryOffset(connection, lifeOf(group), stream)
  return mark === null ? null : mark.toString(16)
}

/** The leader of a stream: a connection to its node, and the node's name. */
export interface StreamLeader {
  readonly connection: StreamConnection
  readonly node: string
}

/**
 * Any node takes a mark on to the leader; null where the leader itself cannot be reached, as behind a load
 * balancer.
 */
type MarkedBy = StreamLeader | { readonly connection: StreamConnection; readonly node: null }

/**
 * Leaves a mark and reads it back; what is there is what counts, whoever left it. Resolves once it outlives
 * the leader, where that can be seen.
 */
export async function markLife(
  leader: MarkedBy,
  group: string,
  stream: string,
  timing?: AskAgain,
): Promise<string> {
  const mark = (randomBytes(8).readBigUInt64BE() >> 2n) | (1n << 62n)
  return writeMark(leader, group, stream, mark, timing)
}

/**
 * Resolves once the leader has committed a write that says nothing new. A leader that was cut off from the
 * others cannot.
 */
export async function proveLeader(
  leader: StreamLeader,
  group: string,
  stream: string,
  life: string,
  timing?: AskAgain,
): Promise<void> {
  await writeMark(leader, group, stream, BigInt(`0x${life}`), timing)
}

async function writeMark(
  leader: MarkedBy,
  group: string,
  stream: string,
  mark: bigint,
  timing: AskAgain = askAgain,
): Promise<string> {
  storeOffset(leader.connection, lifeOf(group), stream, mark)
  const life = await readLife(leader.connection, group, stream)
  if (life === null) {
    throw new OncewardError(
      'configuration',
      `The broker keeps no offsets of this user in stream ${stream}, which a consumer's position needs. Nothing was consumed. Give the user write permission on the stream.`,
    )
  }
  if (leader.node !== null) await untilCommitted(leader, stream, timing)
  return life
}

/** What a leader answers for is in its log, but only what a majority has stays there when it dies. */
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
        `stream ${stream} cannot be written to: its leader does not reach a majority of its nodes`,
      )
    await timing.pause(timing.everyMs)
  }
  const { leader } = await queryNodes(connection, stream)
  if (leader !== node) throw new Error(`stream ${stream} has another leader now`)
}

function lifeOf(group: string): string {
  return `${group}.life`
}
