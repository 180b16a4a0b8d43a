import { OncewardError } from '../../errors.ts'
import type { Edge, Edges, LogRange, Page, RangeReader } from '../../ports/range-reader.ts'
import type { Position } from '../../ports/source.ts'
import { readAddress, type StreamAddress } from './address.ts'
import { confirmExtent } from './confirm-extent.ts'
import { type Extent, lookAt, surveyExtent } from './extent.ts'
import { readIncarnation } from './incarnation.ts'
import { toRecords, type UnkeptPart } from './to-records.ts'
import { type Chunk, readChunk } from './wire/chunk.ts'
import { giveCredit, queryNodes, queryOffset, queryPartitions, subscribe } from './wire/commands.ts'
import type { StreamConnection } from './wire/connection.ts'
import { openEntrance, openLink, type StreamLink } from './wire/handshake.ts'

export interface StreamRangeOptions {
  readonly stream: string
  readonly superStream: boolean
  readonly url: string | undefined
  /**
   * The live consumer's group: its mark identifies the stream's incarnation, its offset shows how far it has
   * read. Both are only read.
   */
  readonly group: string
}

/** Chunks the broker may send ahead. */
const chunksAhead = 4
const chunkTimeoutMs = 10_000
const damagedReadsMax = 3

/** Reads a stream's records between two offsets. Subscribes without a name, and stores no offset. */
export class StreamRangeReader implements RangeReader {
  readonly origin: string
  readonly #options: StreamRangeOptions
  readonly #address: StreamAddress
  readonly #flows = new Map<string, Flow>()
  readonly #damagedReads = new Map<string, number>()
  readonly #links = new Map<string, StreamLink>()
  #entrance: StreamLink | null = null

  constructor(options: StreamRangeOptions) {
    this.origin = options.stream
    this.#options = options
    this.#address = readAddress(options.url, `rabbitmq stream ${options.stream}`)
  }

  async survey({ start, end }: Edges): Promise<readonly LogRange[]> {
    const { connection: entrance } = await this.#enter()
    const { stream, superStream, group } = this.#options
    const ranges: LogRange[] = []
    for (const partition of superStream ? await queryPartitions(entrance, stream) : [stream]) {
      const connection = await this.#leader(partition)
      const mark = await readIncarnation(connection, group, partition)
      const extent = await this.#extent(connection, partition, mark !== null, null)
      const from = await offsetAt(connection, partition, start, extent)
      const to = await offsetAt(connection, partition, end, extent)
      if (from === null || to === null) continue
      assertWithin(partition, from, to, extent)
      const incarnation = mark ?? unmarked
      const last = Math.max(from, Math.min(to, extent.recordsEnd))
      ranges.push({ partition, incarnation, from: String(from), to: String(last) })
    }
    return ranges
  }

  async read(partition: string, from: Position): Promise<Page> {
    const flow = await this.#flowAt(partition, from)
    if ('kind' in flow) return flow
    const chunk = await flow.next().catch(error => {
      this.#flows.delete(partition)
      throw error
    })
    if (chunk.damaged) this.#askAgain(partition, chunk)
    const wanted = Number(from.next)
    // Offsets missing before a chunk were used by the broker internally, or retention overtook the reader.
    if (chunk.firstOffset > wanted) {
      const { first } = await surveyExtent(await this.#leader(partition), partition)
      if (first > wanted) return lost(`retention has removed ${partition}@${wanted}`)
    }
    const end = chunk.firstOffset + chunk.records
    const { records, next, tooLarge } = toRecords(chunk, partition, wanted, end)
    if (tooLarge !== null && records.length === 0) return unkept(partition, from, tooLarge)
    flow.at = Math.max(wanted, next)
    flow.begun = flow.at < end ? chunk : null
    return {
      kind: 'records',
      records,
      next: String(flow.at),
      atEnd: false,
      behind: null,
    }
  }

  async committed(partitions: readonly string[]): Promise<ReadonlyMap<string, Position>> {
    const { group } = this.#options
    const positions = new Map<string, Position>()
    for (const partition of partitions) {
      const connection = await this.#leader(partition)
      const last = await queryOffset(connection, group, partition)
      const incarnation = await readIncarnation(connection, group, partition)
      if (last !== null && incarnation !== null)
        positions.set(partition, { incarnation, next: String(last + 1n) })
    }
    return positions
  }

  async close(): Promise<void> {
    await Promise.all([...this.#links.values()].map(({ connection }) => connection.close(2_000)))
  }

  /**
   * Throws a few times, so that another subscription fetches the chunk again: it may have been damaged in
   * transit.
   */
  #askAgain(partition: string, { firstOffset, problem }: Chunk): void {
    const place = `${partition}@${firstOffset}`
    const reads = (this.#damagedReads.get(place) ?? 0) + 1
    this.#damagedReads.set(place, reads)
    if (reads >= damagedReadsMax) return
    this.#flows.delete(partition)
    throw new Error(`the chunk at ${place} arrived damaged: ${problem}`)
  }

  /** The subscription at this position, or a new one; or the records lost since the survey. */
  async #flowAt(partition: string, { incarnation, next }: Position): Promise<Flow | Page> {
    const known = this.#flows.get(partition)
    if (known?.at === Number(next) && known.connection.live) return known
    const connection = await this.#leader(partition)
    const found = (await readIncarnation(connection, this.#options.group, partition)) ?? unmarked
    const { first, end } = await this.#extent(connection, partition, found !== unmarked, Number(next))
    if (incarnation !== unmarked && found !== incarnation)
      return lost(`stream ${partition} was deleted and created again`)
    if (Number(next) < first || Number(next) > end) return lost(`${partition} no longer has offset ${next}`)
    const flow = new Flow(connection, Number(next))
    await flow.start(partition)
    this.#flows.set(partition, flow)
    return flow
  }

  /** After a broker's start or a leader change, streams briefly seem shorter than they are. */
  #extent(connection: StreamConnection, stream: string, marked: boolean, at: number | null): Promise<Extent> {
    const ask = () => surveyExtent(connection, stream)
    return confirmExtent({ stream, marked, ask, fits: ({ end, whole }) => (at === null ? whole : at <= end) })
  }

  /** Through the address, or through any node connected before. */
  async #enter(): Promise<StreamLink> {
    if (this.#entrance?.connection.live) return this.#entrance
    const known = [...this.#links.values()].find(({ connection }) => connection.live)
    this.#entrance = known ?? (await this.#open(openEntrance, this.#address))
    return this.#entrance
  }

  /**
   * A campaign is short and must miss nothing, so it reads from the leader. If the leader is unreachable, it
   * reads from the connected node.
   */
  async #leader(stream: string): Promise<StreamConnection> {
    const entrance = await this.#enter()
    const { leader } = await queryNodes(entrance.connection, stream)
    if (leader === null) throw new Error(`stream ${stream} has no leader at the moment`)
    const known = this.#links.get(leader)
    if (known?.connection.live) return known.connection
    const at = leader.lastIndexOf(':')
    const node = { ...this.#address, host: leader.slice(0, at), port: Number(leader.slice(at + 1)) }
    return (await this.#open(openLink, node).catch(() => entrance)).connection
  }

  async #open(open: typeof openLink, address: StreamAddress): Promise<StreamLink> {
    const link = await open(address, `replays ${this.origin}`)
    this.#links.set(link.node, link)
    return link
  }
}

/** The stream has no mark: its incarnations cannot be distinguished. */
const unmarked = 'unmarked'

/** One subscription, chunk by chunk. */
class Flow {
  readonly connection: StreamConnection
  at: number
  /** A chunk that is partly unpacked. */
  begun: Chunk | null = null
  readonly #chunks: (Chunk | Error)[] = []
  #arrived: () => void = () => {}
  #id = -1

  constructor(connection: StreamConnection, at: number) {
    this.connection = connection
    this.at = at
    void connection.ended.then(reason => this.#arrive(new Error(reason)))
  }

  async start(stream: string): Promise<void> {
    const from = { offset: this.at }
    this.#id = await subscribe(
      this.connection,
      { stream, from, credit: chunksAhead },
      {
        onChunk: (frame, at) => this.#take(frame, at),
        onActive: (_active, answer) => answer(null),
      },
    )
  }

  /**
   * The next chunk with records at or after the position. Rejects when none arrives: records exist, so the
   * broker has a problem.
   */
  async next(): Promise<Chunk> {
    if (this.begun !== null) return this.begun
    for (;;) {
      const chunk = this.#chunks.shift() ?? (await this.#wait())
      if (chunk instanceof Error) throw chunk
      giveCredit(this.connection, this.#id, 1)
      if (chunk.firstOffset + chunk.records > this.at) return chunk
    }
  }

  #take(frame: Buffer, at: number): void {
    try {
      const chunk = readChunk(frame, at)
      if (chunk === null) giveCredit(this.connection, this.#id, 1)
      else this.#arrive(chunk)
    } catch (error) {
      this.#arrive(error as Error)
    }
  }

  #arrive(chunk: Chunk | Error): void {
    this.#chunks.push(chunk)
    this.#arrived()
  }

  async #wait(): Promise<Chunk | Error> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const late = setTimeout(() => this.#arrive(new Error(`no chunk in ${chunkTimeoutMs} ms`)), chunkTimeoutMs)
    this.#arrived = resolve
    await promise.finally(() => clearTimeout(late))
    this.#arrived = () => {}
    return this.#chunks.shift()!
  }
}

/** Null when the partition is not named. */
async function offsetAt(
  connection: StreamConnection,
  stream: string,
  edge: Edge,
  { first, end }: Extent,
): Promise<number | null> {
  if (edge === 'first') return first
  if (edge === 'next') return end
  if ('offsets' in edge) return edge.offsets[stream] ?? null
  const found = await lookAt(connection, stream, { timestampMs: edge.timestampMs })
  return found?.firstOffset ?? end
}

function assertWithin(partition: string, from: number, to: number, { first, end }: Extent): void {
  if (from >= first && from <= end && to <= end) return
  throw new OncewardError(
    'configuration',
    `Stream ${partition} now begins at ${first} and ends before ${end}, but offsets ${from} to ${to} were requested. Nothing was read. Request the offsets that exist.`,
  )
}

function unkept(
  partition: string,
  { incarnation }: Position,
  { offset, records, problem }: UnkeptPart,
): Page {
  const to = { incarnation, next: String(offset + records) }
  const reason = `${partition} has ${records} records at ${offset} that cannot be decoded (${problem}) and are too large to keep`
  return { kind: 'lost', to, records, reason }
}

function lost(reason: string): Page {
  return { kind: 'lost', to: null, records: null, reason }
}
