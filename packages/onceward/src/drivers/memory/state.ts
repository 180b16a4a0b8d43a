import type { AttemptRecord } from '../../ports/conclusion.ts'
import type { HeldRecord } from '../../ports/held-record.ts'
import type { MarkerStatus } from '../../ports/markers.ts'
import type { Intent, Outgoing } from '../../ports/outgoing.ts'
import type { Loss, Position } from '../../ports/source.ts'

/** A handler's `tx`: a map whose changes vanish with the transaction. */
export type MemoryTransaction = Map<string, unknown>

export interface MemoryState {
  markers: Map<string, { digest: Buffer; status: MarkerStatus }>
  businessKeys: Map<string, { id: string; digest: Buffer | null }>
  intents: Map<string, Intent>
  outbox: Outgoing[]
  /** What handlers added to markers, by consumer, message and name. */
  evidence: Map<string, string>
  /** With the run that began it, when its handler has not returned. */
  attempts: Map<string, (AttemptRecord & { readonly runId?: number })[]>
  /** For each suspect the groups it was tried in, by run. */
  groups: Map<string, ReadonlyMap<number, number>>
  held: Map<string, HeldRecord & { id: string | null; digest: Buffer; seen: number }>
  blocked: Set<string>
  checkpoints: Map<string, { epoch: number; runId: number; stored: Position | null }>
  losses: Map<string, Loss & { readonly declaredMs: number }>
  data: MemoryTransaction
}

export function emptyState(): MemoryState {
  return {
    markers: new Map(),
    businessKeys: new Map(),
    intents: new Map(),
    outbox: [],
    evidence: new Map(),
    attempts: new Map(),
    groups: new Map(),
    held: new Map(),
    blocked: new Set(),
    checkpoints: new Map(),
    losses: new Map(),
    data: new Map(),
  }
}

/** Withdraws the attempts and groups that the run began and survived. */
export function forgetRun({ attempts, groups }: MemoryState, runId: number): void {
  for (const [key, all] of attempts) {
    const left = all.filter(one => one.runId !== runId)
    if (left.length > 0) attempts.set(key, left)
    else attempts.delete(key)
  }
  for (const [key, runs] of groups) {
    const left = [...runs].filter(([one]) => one !== runId)
    if (left.length > 0) groups.set(key, new Map(left))
    else groups.delete(key)
  }
}

export function copyState(state: MemoryState): MemoryState {
  return {
    markers: new Map(state.markers),
    businessKeys: new Map(state.businessKeys),
    intents: new Map(state.intents),
    outbox: [...state.outbox],
    evidence: new Map(state.evidence),
    attempts: new Map(state.attempts),
    groups: new Map(state.groups),
    held: new Map(state.held),
    blocked: new Set(state.blocked),
    checkpoints: new Map(state.checkpoints),
    losses: new Map(state.losses),
    data: new Map(state.data),
  }
}
