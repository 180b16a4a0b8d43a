import type { HeldState } from '../../ports/held-record.ts'
import type { MarkerStatus } from '../../ports/markers.ts'
import type { Loss, Position } from '../../ports/source.ts'

export interface MarkerRow {
  /** In hex, as all digests here. */
  readonly digest: string
  readonly status: MarkerStatus
}

/** An effect of a handler of the workload. No key makes it unique, so a repeated effect is visible. */
export interface EffectRow {
  readonly id: string
  readonly version: string
  readonly position: string | null
}

export interface SimulatedHeldRow {
  readonly id: string | null
  readonly digest: string
  readonly state: HeldState
  readonly code: string
}

export interface CheckpointRow {
  readonly epoch: number
  readonly stored: Position | null
}

/** The rows of one consumer; everything but effects by its unique key. */
export interface Tables {
  readonly markers: Map<string, MarkerRow>
  readonly businessKeys: Map<string, { readonly id: string; readonly digest: string | null }>
  readonly intents: Map<string, { readonly id: string; readonly digest: string }>
  readonly attempts: Map<string, number>
  readonly held: Map<string, SimulatedHeldRow>
  readonly blocked: Map<string, true>
  readonly checkpoints: Map<string, CheckpointRow>
  readonly losses: Map<string, Loss>
}

export type TableName = keyof Tables
export type RowOf<T extends TableName> = Tables[T] extends Map<string, infer Row> ? Row : never

export function emptyTables(): Tables {
  return {
    markers: new Map(),
    businessKeys: new Map(),
    intents: new Map(),
    attempts: new Map(),
    held: new Map(),
    blocked: new Map(),
    checkpoints: new Map(),
    losses: new Map(),
  }
}

export function heldKey(id: string | null, digest: string): string {
  return `${id ?? ''}\0${digest}`
}
