import type { Enrolment } from './enrolment.ts'

/**
 * Paused event types, so that a restart does not forget them and an operator can end a pause. Each call is a
 * transaction of its own. Nothing of it decides what is applied.
 */
export interface BrakeLedger {
  /** Called when a live consumer pauses an event type. Records nothing if a pause of the type is open. */
  engage(enrolment: Enrolment, brake: PausedType & { readonly messages: number }): Promise<void>

  /** Called when a probe was applied. */
  end(enrolment: Enrolment, type: string): Promise<void>

  /** Called at the start, and every few seconds while a type is paused. */
  read(enrolment: Enrolment): Promise<KnownPauses>
}

export interface PausedType {
  /** '' for messages without a type. */
  readonly type: string
  readonly cause: string
}

export interface KnownPauses {
  readonly open: readonly PausedType[]
  /** Ended by an operator within the last hour: their causes pause nothing. */
  readonly released: readonly PausedType[]
}
