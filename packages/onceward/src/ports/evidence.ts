import type { Enrolment } from './enrolment.ts'

export interface StoreEvidence {
  /**
   * Called after a commit, in live mode, with the ids of deliveries recognised as repeats. Best effort and
   * not awaited: a crash loses what is not written yet, and under a storm of repeats only some are written.
   */
  noteRepeats(enrolment: Enrolment, ids: readonly string[]): void
}

export interface EvidenceSession {
  /** Adds evidence to the markers of these messages. The first one of a message under a name stays. */
  note(notes: readonly EvidenceNote[]): Promise<void>

  /** Whether a marker of the newest generation of the consumer, committed before, says `applied`. */
  isApplied(messageId: string, consumer: string): Promise<boolean>
}

/** Both texts can be stored as they are. */
export interface EvidenceNote {
  readonly messageId: string
  readonly name: string
  readonly detail: string
}
