import type { Enrolment } from './enrolment.ts'
import type { Loss, Ownership, Position, Progress } from './source.ts'

/** Each call is a transaction of its own. */
export interface CheckpointStore {
  /**
   * Called when partitions of a log are assigned to this run. Raises each epoch. Waits for transactions of
   * the earlier owner that have passed their fence; the others will fail at it.
   */
  take(enrolment: Enrolment, partitions: readonly string[]): Promise<readonly Ownership[]>

  /**
   * Called when a position is decided without an effect. Rejects with `ownership_lost` when another run has
   * taken the partition.
   */
  begin(enrolment: Enrolment, partition: string, epoch: number, position: Position): Promise<void>

  /** Records a loss, once however often it is declared. */
  declareLoss(enrolment: Enrolment, loss: Loss): Promise<void>

  /**
   * Closes the loss declared at `from` as withdrawn. Rejects with `ownership_lost` when another run has taken
   * the partition.
   */
  withdrawLoss(
    enrolment: Enrolment,
    partition: string,
    epoch: number,
    from: Position,
    reason: string,
  ): Promise<void>
}

export interface LogSession {
  /**
   * The stored positions. Called after `position_moved`, and when an earlier attempt of the batch may have
   * committed, to learn whether it did.
   */
  positions(partitions: readonly string[]): Promise<ReadonlyMap<string, Position>>

  /**
   * The last call, once. Proves that every partition is still this run's and moves those positions that move.
   * Rejects with `ownership_lost` or `position_moved` (details: `partitions`), having written nothing that
   * could commit. A store may do it with its commit: then the transaction rejects.
   */
  advance(progress: readonly Progress[]): Promise<void>
}
