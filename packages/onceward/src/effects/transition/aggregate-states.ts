import type { BatchItem } from '../../contract/handler.ts'
import type { Verdict } from '../../engine/batch/verdicts.ts'
import { respond } from '../declared/respond.ts'
import { type AggregateStanding, classify, type KnownTransition } from './classify.ts'
import { defaultResponses, refusalCodes, type TransitionDeclaration } from './declaration.ts'
import type { TransitionRequest } from './read-request.ts'
import type { AllowedMove, Moves } from './state-machine.ts'

/** An aggregate before and after the batch. */
export interface AggregateChange {
  readonly key: string
  /** Null when the batch creates it. */
  readonly found: AggregateStanding | null
  standing: AggregateStanding | null
  set: (string | null | undefined)[]
  moved: boolean
}

export interface AppliedTransition<M> {
  readonly request: TransitionRequest<M>
  readonly aggregate: string
  readonly move: AllowedMove
}

export interface Fold<M> {
  readonly changes: readonly AggregateChange[]
  readonly applied: readonly AppliedTransition<M>[]
}

/**
 * Applies the batch's transitions to the states that were read, in the order of each aggregate: by version if
 * there is one, otherwise by arrival. Pure. A transition that cannot happen gets a verdict.
 */
export function foldTransitions<M>(
  requests: readonly TransitionRequest<M>[],
  aggregates: ReadonlyMap<string, AggregateChange>,
  known: ReadonlyMap<string, KnownTransition>,
  declared: TransitionDeclaration<M>,
  machine: Moves | null,
  verdicts: Map<BatchItem<M>, Verdict>,
): Fold<M> {
  const happened = new Map(known)
  const applied: AppliedTransition<M>[] = []
  for (const request of inOrder(requests)) {
    const aggregate = aggregates.get(request.key)!
    const ruling = classify(
      request,
      aggregate.key,
      aggregate.standing,
      happened.get(request.transitionId),
      machine,
      declared.aggregate.versions,
    )
    if (ruling.kind !== 'apply') {
      const response = declared.on?.[ruling.kind] ?? defaultResponses[ruling.kind]
      const delayMs = declared.retryDelayMs ?? 2_000
      verdicts.set(request.item, respond(response, ruling.reason, refusalCodes[ruling.kind], delayMs))
      continue
    }
    const { move } = ruling
    aggregate.standing = { state: move.to, version: request.version }
    aggregate.set = request.set.map((value, index) => (value === undefined ? aggregate.set[index] : value))
    aggregate.moved = true
    happened.set(request.transitionId, { aggregate: aggregate.key, ...move, version: request.version })
    applied.push({ request, aggregate: aggregate.key, move })
  }
  const changes = [...new Set(aggregates.values())].filter(aggregate => aggregate.moved)
  return { changes, applied }
}

function inOrder<M>(requests: readonly TransitionRequest<M>[]): readonly TransitionRequest<M>[] {
  if (requests.every(({ version }) => version === null)) return requests
  return requests.toSorted((a, b) => (a.version! < b.version! ? -1 : a.version! > b.version! ? 1 : 0))
}
