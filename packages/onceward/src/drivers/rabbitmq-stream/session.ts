import { OncewardError } from '../../errors.ts'
import type { BrokerIdentity, LogOptions, SourceEvent } from '../../ports/source.ts'
import type { LogSubscription } from '../log/log-subscription.ts'
import type { StreamAddress } from './address.ts'
import { identityOf } from './identity.ts'
import type { StreamLeader } from './incarnation.ts'
import type { KnownNodes } from './known-nodes.ts'
import type { OffsetCommitter } from './offset-committer.ts'
import { PartitionReader } from './partition-reader.ts'
import type { StreamDeclaration } from './stream.ts'
import { queryNodes, queryPartitions, type StreamNodes } from './wire/commands.ts'
import type { StreamConnection } from './wire/connection.ts'
import { code, StreamRefusal } from './wire/frame.ts'
import { openEntrance, openLink, type StreamLink } from './wire/handshake.ts'

export interface StreamSessionOptions {
  readonly address: StreamAddress
  readonly declaration: StreamDeclaration
  readonly group: string
  readonly log: LogOptions
  readonly subscription: LogSubscription
  readonly committer: OffsetCommitter
  readonly deliveredTo: Map<string, number>
  readonly damagedReads: Map<string, number>
  /** Used when the address does not answer, or leads to a node that cannot serve the streams. */
  readonly knownNodes: KnownNodes
  /** Partitions whose replica has dropped unread records. */
  readonly fromLeader: Set<string>
  readonly keptBytesMax?: number
  readonly onEvent: (event: SourceEvent) => void
  readonly onBroker?: (broker: BrokerIdentity) => Promise<void>
}

const lookEveryMs = 1_000

/**
 * The connections of one attempt, and a reader per partition. It ends as a whole: when a connection ends, a
 * stream moves or disappears, or a reader fails.
 */
export class StreamSession {
  readonly #options: StreamSessionOptions
  readonly #links = new Map<string, StreamLink>()
  readonly #readers = new Map<string, { reader: PartitionReader; connection: StreamConnection }>()
  readonly #ended = Promise.withResolvers<string>()
  #looking: NodeJS.Timeout | undefined
  readonly #starting = new AbortController()
  #over: string | null = null

  constructor(options: StreamSessionOptions) {
    this.#options = options
  }

  /** Resolves once, with the reason, when no further record can arrive. */
  get ended(): Promise<string> {
    return this.#ended.promise
  }

  /** Connects and subscribes to every partition. Rejects when any of it fails. */
  async start(): Promise<void> {
    const entrance = await this.#enter()
    const partitions = await this.#asking(entrance, this.#partitions(entrance.connection))
    for (const partition of partitions) {
      const { connection, node } = await this.#asking(entrance, this.#linkTo(partition, entrance))
      const reader = this.#createReader(partition, connection, node)
      this.#readers.set(partition, { reader, connection })
      await reader.start().catch(error => {
        this.#options.knownNodes.failed(node)
        throw error
      })
    }
    if (this.#over === null) this.#looking = setInterval(() => this.#look(), lookEveryMs).unref()
  }

  connectionOf(partition: string): StreamConnection | null {
    const connection = this.#readers.get(partition)?.connection
    return connection?.live ? connection : null
  }

  newestOf(partition: string): number | null {
    return this.#readers.get(partition)?.reader.newest ?? null
  }

  /** Silence of the connection that has been silent the longest. */
  get silentMs(): number {
    return Math.max(0, ...[...this.#links.values()].map(({ connection }) => connection.silentMs))
  }

  topUp(): void {
    for (const { reader } of this.#readers.values()) reader.topUp()
  }

  release(partitions: readonly string[]): void {
    for (const partition of partitions) void this.#readers.get(partition)?.reader.release()
  }

  /** Destroys every connection now. */
  cut(reason: string): void {
    this.#end(reason)
    for (const { connection } of this.#links.values()) connection.destroy(reason)
  }

  /** Returns every partition; the connections may have ended already. Never rejects. */
  async handBack(reason: string): Promise<void> {
    await Promise.all([...this.#readers.values()].map(({ reader }) => reader.end(reason)))
  }

  /** Closes every connection gracefully. Never rejects. */
  async close(timeoutMs: number): Promise<void> {
    this.#end('closed by this process')
    await Promise.all([...this.#links.values()].map(({ connection }) => connection.close(timeoutMs)))
  }

  #end(reason: string): void {
    this.#over ??= reason
    clearInterval(this.#looking)
    this.#starting.abort()
    this.#ended.resolve(reason)
  }

  async #link(open: typeof openLink, address: StreamAddress): Promise<StreamLink> {
    const { declaration, group } = this.#options
    const link = await open(address, `reads ${declaration.stream} as ${group}`, this.#starting.signal)
    if (link.cluster !== null)
      await this.#options.onBroker?.(identityOf(link, address)).catch(error => {
        link.connection.destroy('refused')
        throw error
      })
    if (this.#over !== null) {
      link.connection.destroy(this.#over)
      throw new Error(this.#over)
    }
    this.#links.set(link.node, link)
    void link.connection.ended.then(reason => this.cut(reason))
    link.connection.onUnavailable = stream => this.cut(`stream ${stream} moved or was deleted`)
    return link
  }

  /** Through the address, unless its node could not serve the streams. */
  async #enter(): Promise<StreamLink> {
    const { address, knownNodes } = this.#options
    const detour = await this.#linkToFirst(knownNodes.takeDetours())
    if (detour !== null) return detour
    return this.#link(openEntrance, address).catch(async failure => {
      if (failure instanceof OncewardError) throw failure
      const elsewhere = await this.#linkToFirst(knownNodes.all)
      if (elsewhere === null) throw failure
      return elsewhere
    })
  }

  /** Null when none answers. */
  async #linkToFirst(nodes: readonly string[]): Promise<StreamLink | null> {
    for (const node of nodes) {
      const link = await this.#linkToNode(node).catch(() => null)
      if (link !== null) return link
    }
    return null
  }

  /** A node that lost contact with the others may leave a question about a stream unanswered. */
  #asking<T>({ node }: StreamLink, answer: Promise<T>): Promise<T> {
    return answer.catch(error => {
      if (!(error instanceof OncewardError)) this.#options.knownNodes.failed(node)
      throw error
    })
  }

  async #partitions(connection: StreamConnection): Promise<readonly string[]> {
    const { stream, superStream } = this.#options.declaration
    if (!superStream) return [stream]
    const partitions = await queryPartitions(connection, stream).catch((error): string[] => {
      if (error instanceof StreamRefusal && error.code === code.streamDoesNotExist) return []
      throw error
    })
    if (partitions.length > 0) return partitions
    throw new OncewardError(
      'configuration',
      `Super stream ${stream} does not exist or has no partitions. Nothing was consumed. Create it, correct the name, or leave superStream out for a plain stream.`,
      { details: { missing: true } },
    )
  }

  /**
   * Any node with the stream is suitable: the connected one if it has it, else a replica. RabbitMQ recommends
   * replicas for readers, so that the leader serves only writers. Rejected: the leader first. It has the
   * newest committed offset, which matters only to where reading resumes, and that is confirmed with the
   * leader.
   */
  async #linkTo(partition: string, entrance: StreamLink): Promise<StreamLink> {
    const { knownNodes } = this.#options
    const { all } = await queryNodes(entrance.connection, partition).catch((error): StreamNodes => {
      if (error instanceof StreamRefusal) return { leader: null, all: [] }
      throw error
    })
    knownNodes.add(all)
    if (this.#options.fromLeader.has(partition)) return this.#leaderOf(partition, entrance.connection)
    const nodes = knownNodes.preferred(all)
    if (nodes.length === 0 || nodes.includes(entrance.node)) return entrance
    const known = nodes.find(node => this.#links.has(node))
    if (known !== undefined) return this.#links.get(known)!
    return this.#linkToAny(nodes.toReversed())
  }

  async #linkToAny(nodes: readonly string[]): Promise<StreamLink> {
    let failure: unknown
    for (const node of nodes) {
      try {
        return await this.#linkToNode(node)
      } catch (error) {
        if (error instanceof OncewardError || this.#over !== null) throw error
        failure = error
      }
    }
    throw failure
  }

  #linkToNode(node: string): Promise<StreamLink> {
    const at = node.lastIndexOf(':')
    const host = { host: node.slice(0, at), port: Number(node.slice(at + 1)) }
    return this.#link(openLink, { ...this.#options.address, ...host })
  }

  /** Rejects when the leader is unreachable: facts that only the leader knows are then unknown. */
  async #leaderOf(partition: string, connection: StreamConnection): Promise<StreamLink & StreamLeader> {
    const { leader } = await queryNodes(connection, partition)
    if (leader === null) throw new Error(`stream ${partition} has no leader at the moment`)
    const link = this.#links.get(leader) ?? (await this.#linkToNode(leader))
    return { ...link, node: leader }
  }

  #createReader(partition: string, connection: StreamConnection, node: string): PartitionReader {
    const { onEvent, knownNodes } = this.#options
    return new PartitionReader({
      ...this.#options,
      partition,
      connection,
      onAssigned: () => {
        knownNodes.served(node)
        onEvent({ kind: 'assigned', partitions: [partition], reason: 'this process now reads it' })
      },
      onRevoked: reason => onEvent({ kind: 'revoked', partitions: [partition], reason }),
      leader: () => this.#leaderOf(partition, connection),
      readFromLeader: () => this.#options.fromLeader.add(partition),
      onTrouble: reason => {
        knownNodes.failed(node)
        this.cut(reason)
      },
    })
  }

  #look(): void {
    for (const { reader } of this.#readers.values()) reader.look().catch(() => {})
  }
}
