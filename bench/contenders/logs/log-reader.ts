import type { Place } from '../../place.ts'
import type { Task } from '../contender.ts'

export interface LogRecord {
  readonly partition: number
  readonly offset: number
  readonly body: Buffer
}

/** A log as a hand-written consumer reads it: the client's own calls, partitions given, no group to join. */
export interface LogReader {
  /** What comes next, each partition in order; waits until there is something. */
  read(): Promise<readonly LogRecord[]>
  /** Stores where the group reads on. */
  commit(nextByPartition: ReadonlyMap<number, number>): Promise<void>
  close(): Promise<void>
}

export interface LogClient {
  open(task: Task): Promise<LogReader>
}

export type ConnectLog = (place: Place) => Promise<LogClient>
