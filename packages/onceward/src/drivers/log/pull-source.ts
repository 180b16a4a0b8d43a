import type { Clock, Timers } from '../../environment.ts'
import type { Page } from '../../ports/range-reader.ts'
import type { OpenOptions, Position, Source, Subscription } from '../../ports/source.ts'
import { PullDriver } from './pull-driver.ts'

/**
 * A log that is read by requests: a file, a change stream, a list of objects, a page of an API. Positions are
 * its own texts, and only the consumer's store keeps them. Calls for one partition come one after the other.
 */
export interface PullReader {
  readonly origin: string
  /**
   * The partitions that exist now. Called at the start and from time to time; one that is missing later is
   * still read. Rejections as in `begin`.
   */
  list(): Promise<readonly string[]>
  /**
   * Where a consumer begins that was never here. Rejections are retried, except for `configuration` errors.
   */
  begin(partition: string): Promise<Position>
  /** Reads from a position it returned, perhaps long ago and in another process. Rejections as in `begin`. */
  read(partition: string, from: Position): Promise<Page>
  /** Calls back when there may be new records; only a hint. The result ends it. */
  watch?(onChange: () => void): () => void
  close(): Promise<void>
}

export interface PullOptions {
  /** For people. */
  readonly name: string
  /** Default `forever`. `end`: once every record that exists is settled, the source emits `ended`. */
  readonly until?: 'forever' | 'end'
  /** Longest pause between two looks when no record arrives. Default 1 s. */
  readonly pollMaxMs?: number
  /**
   * No broker assigns the partitions: the process that took one last reads it, and the store refuses the
   * transactions of the others. A refused process stands by this long and then takes its turn, so a partition
   * whose reader crashed is read again. Two live processes take turns: nothing is lost or repeated, but run
   * one, or give each its own partitions. Default 60 s, spread by a quarter.
   */
  readonly standbyMs?: number
  readonly env: PullEnvironment
}

export interface PullEnvironment {
  readonly clock: Clock
  readonly timers: Pick<Timers, 'after'>
  readonly random: () => number
}

/** The base of sources that are read by requests and keep their position in the store. */
export class PullSource implements Source {
  readonly name: string
  readonly capabilities = {
    order: { key: true, partition: true },
    positions: true,
    deliveryCount: false,
    redelivers: true,
  }
  readonly #openReader: () => PullReader
  readonly #options: PullOptions

  constructor(openReader: () => PullReader, options: PullOptions) {
    this.name = options.name
    this.#openReader = openReader
    this.#options = options
  }

  async open(options: OpenOptions): Promise<Subscription> {
    const driver = new PullDriver(this.#openReader(), this.#options, options)
    driver.start()
    return driver.subscription
  }
}
