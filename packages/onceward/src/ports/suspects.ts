import type { Clock } from '../environment.ts'
import type { Enrolment } from './enrolment.ts'

/**
 * What a store knows of runs that fell silent, and of the messages whose handlers were running then. Each
 * call is a short transaction, on the store's clock. It never decides what is applied: a run wrongly taken
 * for crashed costs time, not correctness.
 */
export interface SuspectStore {
  /**
   * Called at start and then every few seconds: the heartbeat of this run. Returns the other open runs of the
   * consumer without a heartbeat since this one began, or for `silentMs`, and those that halted. A live
   * neighbour stays on the list until its next heartbeat at most. `clock` runs evenly: a store with its own
   * clock records when that clock is set forward.
   */
  beat(enrolment: Enrolment, silentMs: number, clock?: Clock): Promise<readonly SilentRun[]>

  /** The consequences of these runs are dealt with: they are not returned again. */
  clear(enrolment: Enrolment, runIds: readonly number[]): Promise<void>

  /**
   * Called before the handler of a suspect runs. Counts an attempt that is durable when this resolves, unless
   * one of `attemptsMax` has already ended with its process. Returns the attempts counted before. If the
   * process crashes, the recorded attempt names the message. `survived`: ids whose attempts this run began
   * earlier and survived; they are withdrawn.
   */
  beginAttempt(
    enrolment: Enrolment,
    id: string,
    attemptsMax: number,
    survived?: readonly string[],
  ): Promise<EarlierAttempts>

  /**
   * Called before the handlers of several suspects run in one batch. Records that this run tried them
   * together; the record is durable when this resolves. It counts as an attempt of none of them. `size`:
   * their number; ids may repeat. `survived` as above.
   */
  beginGroup(
    enrolment: Enrolment,
    ids: readonly string[],
    size: number,
    survived?: readonly string[],
  ): Promise<void>

  /**
   * The largest group in which each of these may be tried: half of the smallest group in which a run crashed,
   * and 1 when a run crashed on the message alone. A message without a crash is missing from the answer. Runs
   * that were closed did not crash.
   */
  groupLimits(enrolment: Enrolment, ids: readonly string[]): Promise<ReadonlyMap<string, number>>
}

/** How long a run may send no heartbeat before it counts as crashed. */
export const silentAfterMs = 10_000

export interface SilentRun {
  readonly runId: number
  /** How many deliveries it may have held. */
  readonly deliveriesMax: number
}

export interface EarlierAttempts {
  readonly attempts: number
  /** Of these, how many ended with the process. */
  readonly deaths: number
}

/** The code of an attempt that began and never ended. */
export const processDied = 'process_died'

export interface SuspectSession {
  /**
   * The handlers of these returned: withdraws what `beginAttempt` and `beginGroup` wrote for them in this
   * run.
   */
  withdrawAttempts(ids: readonly string[]): Promise<void>
}
