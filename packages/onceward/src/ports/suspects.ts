import type { Clock } from '../environment.ts'
import type { Enrolment } from './store.ts'

/**
 * What a store knows of runs that fell silent, and of the messages whose handlers were at work when they did.
 * Each call is a short transaction of its own, on the store's clock. Nothing of it decides what is applied: a
 * run that is wrongly taken for dead costs time, not correctness.
 */
export interface SuspectLedger {
  /**
   * Called at start and then every few seconds: this run lives. Answers with the other runs of the consumer
   * that are open and were not heard of since this one began, or for `silentMs`; and with those that halted.
   * A neighbour that lives is on the list until its next beat at most. `clock` runs evenly: a store with a
   * clock of its own records when that one is set forward.
   */
  beat(enrolment: Enrolment, silentMs: number, clock?: Clock): Promise<readonly SilentRun[]>

  /** What these runs may have left behind is dealt with; nobody hears of them again. */
  clear(enrolment: Enrolment, runIds: readonly number[]): Promise<void>

  /**
   * Called before the handler of a suspect runs. Counts an attempt that is durable when this resolves, unless
   * one of `attemptsMax` ended with its process already; answers with what was counted before. What stands of
   * it when the process dies says why. `survived`: what this run began before and came through with; its
   * attempts are taken back.
   */
  beginAttempt(
    enrolment: Enrolment,
    id: string,
    attemptsMax: number,
    survived?: readonly string[],
  ): Promise<EarlierAttempts>

  /**
   * Called before the handlers of several suspects run in one batch. Records that this run tried them
   * together; the record is durable when this resolves. It is no attempt of any of them. `size`: how many
   * they are; ids may repeat. `survived` as above.
   */
  beginGroup(
    enrolment: Enrolment,
    ids: readonly string[],
    size: number,
    survived?: readonly string[],
  ): Promise<void>

  /**
   * The size of the largest group in which each of these may be tried: half of the smallest group over which
   * a run died, and 1 when a run died over the message alone. A message that no run died over is missing from
   * the answer. Runs that were closed in order did not die.
   */
  groupLimits(enrolment: Enrolment, ids: readonly string[]): Promise<ReadonlyMap<string, number>>
}

/** How long a run may send no sign of life before it is taken for dead. */
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

/** The code of an attempt that began and was never heard of again. */
export const processDied = 'process_died'
