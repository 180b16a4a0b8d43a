import type { StreamConnection, SubscriptionListener } from './connection.ts'
import { code, command, type FrameWriter as Frame, FrameWriter, StreamRefusal } from './frame.ts'

export type OffsetSpec =
  | 'first'
  | 'last'
  | 'next'
  | { readonly offset: number }
  | { readonly timestampMs: number }

export interface SubscribeOptions {
  readonly stream: string
  readonly from: OffsetSpec
  /** Chunks the broker may send before it gets more credit. */
  readonly credit: number
  readonly properties?: Readonly<Record<string, string>>
}

/** Resolves with the subscription's id on this connection. Chunks may reach the listener before that. */
export async function subscribe(
  connection: StreamConnection,
  { stream, from, credit, properties = {} }: SubscribeOptions,
  listener: SubscriptionListener,
): Promise<number> {
  const id = connection.listen(listener)
  const write = (frame: Frame) => {
    frame.u8(id).text(stream)
    writeOffsetSpec(frame, from)
    frame.u16(credit).texts(properties)
  }
  try {
    await connection.request(command.subscribe, `subscribe to ${stream}`, write, () => {})
    return id
  } catch (error) {
    connection.forget(id)
    throw error
  }
}

export async function unsubscribe(connection: StreamConnection, id: number): Promise<void> {
  connection.forget(id)
  await connection.request(
    command.unsubscribe,
    'unsubscribe',
    frame => frame.u8(id),
    () => {},
  )
}

export function giveCredit(connection: StreamConnection, id: number, chunks: number): void {
  connection.send(new FrameWriter(command.credit).u8(id).u16(chunks))
}

/** Has no answer: only a query shows that it arrived. */
export function storeOffset(
  connection: StreamConnection,
  reference: string,
  stream: string,
  offset: bigint,
): void {
  connection.send(new FrameWriter(command.storeOffset).text(reference).text(stream).u64(offset))
}

/** Null when none was ever stored, or retention has passed it. */
export async function queryOffset(
  connection: StreamConnection,
  reference: string,
  stream: string,
): Promise<bigint | null> {
  try {
    return await connection.request(
      command.queryOffset,
      `query the offset of ${reference}`,
      frame => frame.text(reference).text(stream),
      reader => reader.u64(),
    )
  } catch (error) {
    if (error instanceof StreamRefusal && error.code === code.noOffset) return null
    throw error
  }
}

export function queryPartitions(connection: StreamConnection, superStream: string): Promise<string[]> {
  return connection.request(
    command.partitions,
    `partitions of ${superStream}`,
    frame => frame.text(superStream),
    reader => reader.list(() => reader.text()),
  )
}

/** Without partitions it is only a durable exchange. */
export function createEmptySuperStream(connection: StreamConnection, name: string): Promise<void> {
  return connection.request(
    command.createSuperStream,
    `create super stream ${name}`,
    frame => frame.text(name).u32(0).u32(0).texts({}),
    () => {},
  )
}

export interface StreamStats {
  /** First offset of the oldest available chunk; -1 while nothing was ever written. */
  readonly firstChunk: number
  /**
   * First offset of the newest chunk that a majority has. A replica learns of chunks that it does not have
   * yet.
   */
  readonly committedChunk: number
  /** First offset of the newest chunk that this node has written, committed or not. */
  readonly lastChunk: number
}

/** The chunk offsets include the broker's internal chunks (stored offsets) as well as records. */
export async function queryStats(connection: StreamConnection, stream: string): Promise<StreamStats> {
  const stats = await connection.request(
    command.streamStats,
    `statistics of ${stream}`,
    frame => frame.text(stream),
    reader => new Map(reader.list(() => [reader.text(), Number(reader.i64())] as const)),
  )
  return {
    firstChunk: stats.get('first_chunk_id') ?? -1,
    committedChunk: stats.get('committed_chunk_id') ?? -1,
    lastChunk: stats.get('last_chunk_id') ?? -1,
  }
}

/** `host:port` of the nodes that have the stream; null and empty when the broker does not know. */
export interface StreamNodes {
  readonly leader: string | null
  /** The leader first. */
  readonly all: readonly string[]
}

export function queryNodes(connection: StreamConnection, stream: string): Promise<StreamNodes> {
  return connection.request(
    command.metadata,
    `nodes of ${stream}`,
    frame => frame.u32(1).text(stream),
    reader => {
      const nodes = new Map(reader.list(() => [reader.u16(), `${reader.text()}:${reader.u32()}`] as const))
      const [found] = reader.list(() => {
        reader.text()
        const answered = reader.u16()
        const leader = reader.u16()
        return { answered, leader, members: [leader, ...reader.list(() => reader.u16())] }
      })
      if (found !== undefined && found.answered !== code.ok) throw new StreamRefusal(stream, found.answered)
      const all = (found?.members ?? []).flatMap(member => nodes.get(member) ?? [])
      return { leader: found === undefined ? null : (nodes.get(found.leader) ?? null), all }
    },
    { hasCode: false },
  )
}

const specTypes = { first: 1, last: 2, next: 3 } as const

function writeOffsetSpec(frame: Frame, spec: OffsetSpec): void {
  if (typeof spec === 'string') frame.u16(specTypes[spec])
  else if ('offset' in spec) frame.u16(4).u64(BigInt(spec.offset))
  else frame.u16(5).u64(BigInt(spec.timestampMs))
}
