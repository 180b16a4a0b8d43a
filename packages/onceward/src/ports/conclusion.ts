import type { HeldRecord } from './held-record.ts'
import type { MarkerStatus } from './markers.ts'

export interface AttemptRecord {
  readonly id: string
  readonly failureClass: string
  readonly code: string
  readonly error: string
  /** Where it was thrown; '' when unknown. */
  readonly place: string
}

export interface AttemptCount {
  readonly total: number
  readonly byClass: Readonly<Record<string, number>>
  /** Of the same class, code and place. */
  readonly same: number
}

export interface Conclusion {
  /** Null for bytes without a usable id. */
  readonly id: string | null
  readonly digest: Buffer
  /** `retry` removes the marker; a status changes it. */
  readonly to: 'retry' | MarkerStatus
  /** The marker was inserted by this transaction (false: it belongs to an earlier one, or there is none). */
  readonly claimed: boolean
  /**
   * The business key it releases to the first message that waits for it; null when it keeps its key or has
   * none.
   */
  readonly businessKey: string | null
  /** Why it had no effect, kept with the marker. */
  readonly because?: string | null
  /** Everything needed to process the message later; null when it is not held. */
  readonly held: HeldRecord | null
}
