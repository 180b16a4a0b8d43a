import type { Place } from '../place.ts'
import type { Load } from '../workload.ts'

export interface PeerPlace extends Place {
  readonly redisUrl: string
  /** Name of the queue, topic or job kind; new for every run. */
  readonly queue: string
}

/** One tool in the form its own documentation recommends for throughput. */
export interface Peer {
  /** `pg-boss, transactional`: unique in the table. */
  readonly name: string
  readonly reads: 'postgres' | 'redis' | 'rabbitmq' | 'kafka'
  /** Whose version the report shows; null for Onceward. */
  readonly packageName: string | null
  /** The settings that differ from the tool's defaults, for the report. */
  readonly configuration: string
  /** The rate is measured with ordered and with random ids when the database stores the message's id. */
  readonly storesIds: boolean
  /** It gets more messages, so that a run is not over at once. */
  readonly handlesBatches: boolean
  /** Puts the load where `work` reads it; not timed. */
  fill(place: PeerPlace, load: Load): Promise<void>
  /** Starts to consume and stays until the process is killed. The second start of a run follows a kill. */
  work(place: PeerPlace, start: 'first' | 'after a kill'): Promise<unknown>
}

/** Connections to the database for handlers that run one message at a time. */
export const handlerConnections = 20

export function* chunksOf<T>(items: Iterable<T>, size: number): Generator<T[]> {
  let chunk: T[] = []
  for (const item of items) {
    chunk.push(item)
    if (chunk.length < size) continue
    yield chunk
    chunk = []
  }
  if (chunk.length > 0) yield chunk
}
