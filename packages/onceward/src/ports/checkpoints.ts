/** Ownership and positions of a log's partitions in the store: the engine's side of a log source. */
export interface Checkpoints {
  /**
   * Called when partitions are assigned to this subscription, before their first record is delivered. Raises
   * their epochs: once it resolves, no transaction of an earlier owner commits anything for them. Waits while
   * the store is unavailable.
   */
  take(partitions: readonly string[]): Promise<readonly Ownership[]>
  /**
   * Called once a partition's position is decided (first start, accepted loss) and, with `broker`, committed
   * to the broker. From then on a missing position is a loss, not a beginning. With `first`, also called for
   * every settled run of records.
   */
  begin(partition: string, epoch: number, position: Position): Promise<void>
  /**
   * Called when records are gone unread, before `receive` rejects with `records_lost`: the loss is recorded
   * first.
   */
  declareLoss(loss: Loss): Promise<void>
  /**
   * Called when the log has the records of a loss declared at `from` after all, before reading continues
   * there. Closes that loss as withdrawn, accepted or not, so that its alert ends. Rejects with
   * `ownership_lost` when another run has taken the partition.
   */
  withdrawLoss(partition: string, epoch: number, from: Position, reason: string): Promise<void>
}

/** A position of a log, as tests read it. */
export interface Position {
  readonly incarnation: string
  readonly next: string
}

export interface Ownership {
  readonly partition: string
  readonly epoch: number
  /** The run that owned it before; null when none did. */
  readonly lastRun: number | null
  /** The last stored position; null when this consumer never began here. */
  readonly stored: Position | null
  /** An operator accepted a declared loss: continue from here, then call `begin`. */
  readonly resumeAt: Position | null
  /** The newest declared loss that is not closed; absent when there is none. */
  readonly openLoss?: OpenLoss
}

/** A declared loss after which reading has not continued yet. */
export interface OpenLoss {
  readonly from: Position
  readonly to: Position | null
  /** When it was first declared, by the store's clock. */
  readonly declaredMs: number
  readonly accepted: boolean
  /** As it was declared last. */
  readonly reason: string
}

/** Records a log no longer has, from the stored position to the first record that still exists. */
export interface Loss {
  readonly partition: string
  readonly from: Position
  /** Null when no record is left to continue from, as in a deleted topic. */
  readonly to: Position | null
  /** The largest possible number of records; null when it cannot be known. */
  readonly records: number | null
  readonly reason: string
}

/**
 * What a transaction writes about one partition. It checks the ownership, and moves the position unless
 * `next` is null.
 */
export interface Progress {
  readonly partition: string
  readonly epoch: number
  readonly incarnation: string
  /** The position the store must have for the move to be valid; null: any. */
  readonly from: string | null
  readonly next: string | null
}
