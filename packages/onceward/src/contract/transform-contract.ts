import type { Verdict } from '../engine/batch/verdicts.ts'
import type { Log } from '../environment.ts'
import type { KafkaTransformOutput } from '../ports/transform.ts'
import type { BatchSection, ConsumerContract, IdentitySection } from './contract.ts'
import type { DeadLetterSection, FailureSection } from './failure-section.ts'
import type { Envelope } from './handler.ts'
import type { ObjectivesSection } from './upkeep-sections.ts'

/**
 * Everything a Kafka transform declares: the topic it reads, the topics it writes to, and its failure policy.
 * It has no store: outputs, dead letters and consumed offsets are one Kafka transaction.
 */
export interface TransformContract<M = unknown>
  extends Pick<
    ConsumerContract<M>,
    'name' | 'owner' | 'producer' | 'description' | 'risk' | 'source' | 'message' | 'handlerVersion'
  > {
  /** Where each identity of a record is read. Default: the id is its position. */
  identity?: Omit<IdentitySection<M>, 'businessKey' | 'businessDigest' | 'idTime'>
  /**
   * How often a failed record is tried again, in place, and where it ends. Records that are set aside go to
   * the topic `deadLetter`, in the transaction of their offset. Without that topic the transform halts.
   */
  failure?: TransformFailure
  batch?: Pick<BatchSection, 'sizeMax' | 'handlerTimeoutMs'>
  /** The transform's service levels. See `docs/alerts.md`. */
  objectives?: Omit<
    ObjectivesSection,
    'leasesExpiredPerHourMax' | 'outboxAgeMax' | 'parkingShareMax' | 'duplicateShareMax'
  >
  /** The topics it writes to. An output for another topic is refused, and its record set aside. */
  to: readonly string[]
  /**
   * Maps a record to its output records, or returns a verdict such as `ignore` or `reject`. It must be pure,
   * because it may run again. The records of a partition are passed in order, one at a time; partitions run
   * side by side.
   */
  map: TransformMap<M>
}

/** Attempts are counted in memory: after a crash or a rebalance they begin again. */
export type TransformFailure = Omit<FailureSection, 'mode' | 'parking' | 'redelivery' | 'deadLetter'> & {
  deadLetter?: string | Omit<DeadLetterSection, 'manualReviewRequired'>
}

export type TransformMap<M = unknown> = (
  context: TransformContext<M>,
) => TransformResult | Promise<TransformResult>

export type TransformResult = readonly KafkaTransformOutput[] | Verdict

/** What the function receives for one record. */
export interface TransformContext<M> {
  /** The decoded and validated message. */
  readonly message: M
  /** Its identities, and the key, headers, time and position of its record. */
  readonly envelope: Envelope
  /** Aborted when the function exceeds its time limit, and when the transform stops at once. */
  readonly signal: AbortSignal
  readonly log: Log
}
