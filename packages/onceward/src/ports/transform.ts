import type { OncewardError } from '../errors.ts'
import type { Delivery } from './source.ts'

/** The input record of a Kafka transform. */
export interface KafkaTransformInput {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly key: Buffer | null
  /** Null for a tombstone. */
  readonly value: Buffer | null
  /** Of a repeated name, the last value. */
  readonly headers: Readonly<Record<string, Buffer | null>>
  readonly timestampMs: number
}

/** An output record of a Kafka transform. */
export interface KafkaTransformOutput {
  readonly topic: string
  /** Default: by key, as Java's default partitioner does. */
  readonly partition?: number
  readonly key?: Buffer | string | null
  /** Null for a tombstone. */
  readonly value: Buffer | string | null
  readonly headers?: Readonly<Record<string, Buffer | string | null>>
  /** Default: the timestamp of the input. */
  readonly timestampMs?: number
}

/** What one transaction writes, and where it stops. */
export interface TransformPlan<Out> {
  /** Output records and dead letters, in order. */
  readonly outputs: readonly Out[]
  /**
   * By partition, as `case-events/3`: the offset before which it stops. That record and later ones are
   * delivered again after the delay.
   */
  readonly stops: ReadonlyMap<string, TransformStop>
  /** Set when the transform must halt once everything before its stops is committed. */
  readonly halt: OncewardError | null
}

export interface TransformStop {
  readonly at: number
  readonly delayMs: number
}

/** Decides about the records that a driver reads; the driver commits what it decides. */
export interface TransformWork<Out> {
  /** How many records may be tried now; 0: none before `waitMs` have passed. */
  readonly room: number
  readonly waitMs: number
  /** Called when records arrive from the broker. */
  received(count: number): void
  /**
   * Plans the transaction of one batch and commits it. `commit` resolves to false when another member owns
   * one of its partitions. It rejects when nothing was committed, or when the outcome is unknown: the batch
   * is then delivered again. Resolves and rejects like `commit`; a rejection of its own is one of usage.
   */
  run(batch: readonly Delivery[], commit: (plan: TransformPlan<Out>) => Promise<boolean>): Promise<boolean>
}
