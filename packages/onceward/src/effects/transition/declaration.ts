import type { After } from '../../contract/declared-effect.ts'
import type { FieldOf } from '../declared/fields.ts'
import type { EffectResponse } from '../declared/respond.ts'
import type { StateMachine } from './state-machine.ts'

/** What `transition(...)` declares: states, moves and where they are kept. */
export interface TransitionDeclaration<M> {
  /** Refuses undeclared transitions. Without a machine, `from` and `to` of the message are trusted. */
  readonly machine?: StateMachine
  readonly aggregate: AggregateTable
  /**
   * Append-only, one row per transition that happened. If it is missing, the error at start contains its
   * CREATE TABLE statement.
   */
  readonly facts: string
  readonly aggregateId: FieldOf<M, unknown>
  /** The identity of the transition, independent of the message that carries it. */
  readonly transitionId: FieldOf<M, unknown>
  /** The machine's event. Declare it, or `from` and `to`, or all three if messages carry them all. */
  readonly event?: FieldOf<M, string>
  readonly from?: FieldOf<M, string | null>
  readonly to?: FieldOf<M, string>
  /** The version of the aggregate after the transition. Required with `aggregate.version`. */
  readonly version?: FieldOf<M, string | number | bigint>
  readonly actor: FieldOf<M, string | null | undefined>
  readonly reason: FieldOf<M, string | null | undefined>
  /** Further columns of the aggregate that the transition sets. Undefined leaves a column unchanged. */
  readonly set?: Readonly<Record<string, FieldOf<M, unknown>>>
  /**
   * Fills the aggregate's columns `caused_by` (text) and `caused_by_run` (integer) with the message and run
   * that moved it last. Default false.
   */
  readonly cause?: boolean
  /** The response to a transition that changed nothing. */
  readonly on?: Partial<Record<TransitionRefusal, EffectResponse>>
  /** For `retry`. Default 2 s. After `failure.attemptsMax` attempts the message is parked. */
  readonly retryDelayMs?: number
  /** Called for each transition that happened, in the same transaction: publish, call, write. */
  readonly after?: After<M, TransitionResult>
}

/** A transition that happened. */
export interface TransitionResult {
  readonly transitionId: string
  readonly aggregateId: string
  /** Null when it created the aggregate. */
  readonly from: string | null
  readonly to: string
  /** Null without versions. */
  readonly version: bigint | null
}

/** The table that a transition keeps: one row for each entity with its state and version. */
export interface AggregateTable {
  readonly table: string
  readonly key: string
  readonly state: string
  /** With a version column, the version guards the order. Without it, only the state does. */
  readonly version?: string
  /** Default `contiguous`: the next transition is the next version. `increasing`: versions may be skipped. */
  readonly versions?: 'contiguous' | 'increasing'
}

export type TransitionRefusal = 'duplicate' | 'stale' | 'illegal' | 'missing' | 'outOfOrder' | 'corruption'

export const defaultResponses: Readonly<Record<TransitionRefusal, EffectResponse>> = {
  duplicate: 'duplicate',
  stale: 'stale',
  illegal: 'quarantine',
  missing: 'retry',
  outOfOrder: 'retry',
  corruption: 'quarantine',
}

/** The codes recorded in held rows and attempts. */
export const refusalCodes: Readonly<Record<TransitionRefusal, string>> = {
  duplicate: 'duplicate_transition',
  stale: 'stale_transition',
  illegal: 'illegal_transition',
  missing: 'missing_aggregate',
  outOfOrder: 'transition_out_of_order',
  corruption: 'transition_corruption',
}

export const knownFields = [
  'machine',
  'aggregate',
  'facts',
  'aggregateId',
  'transitionId',
  'event',
  'from',
  'to',
  'version',
  'actor',
  'reason',
  'set',
  'cause',
  'on',
  'retryDelayMs',
  'after',
]
