import type { DeclaredEffect, EffectTrace } from '../../contract/declared-effect.ts'
import { releaseClosed } from '../../drivers/postgres/projection/release-closed.ts'
import { invariant } from '../../errors.ts'
import { afterOf } from '../declared/after.ts'
import { applyFacts } from './apply-facts.ts'
import { type GapPolicy, type ProjectionOptions, resultCodes } from './declaration.ts'
import { makePlan, type ProjectionPlan } from './plan.ts'
import { projectionProblems } from './projection-problems.ts'

/** A projection, for `effect.apply`. See `docs/effects.md`. */
export function projection<M>(options: ProjectionOptions<M>): DeclaredEffect<M> {
  let plan: ProjectionPlan<M> | null = null
  let lookedTo = ''
  return {
    kind: 'projection',
    codes: resultCodes,
    remembers: true,
    ...(options?.rebuildTable === undefined && { tables: [options?.table] }),
    mayWait: leavesWork(options?.gap),
    ...(options?.delete?.when === 'tombstone' && { tombstones: true }),
    problems: contract => projectionProblems(options, contract),
    traces: () => [traceOf(options)],
    async verify(query, start) {
      plan = await makePlan(options, query, start)
    },
    async apply(context) {
      invariant(plan !== null, 'a projection is compared with its table before it is applied')
      return applyFacts(plan, context)
    },
    ...afterOf(options),
    ...(isWait(options?.gap) && {
      async releaseWaiting(query, consumerId) {
        if (plan !== null) lookedTo = await releaseClosed(query, plan.live.table, consumerId, lookedTo)
      },
    }),
  }
}

function traceOf<M>({
  table,
  key,
  version,
  columns,
  delete: deletes,
  cause,
}: ProjectionOptions<M>): EffectTrace {
  return {
    table,
    message: cause === true ? 'caused_by' : null,
    key: Object.keys(key)[0]!,
    version: Object.keys(version)[0]!,
    at: null,
    consumer: null,
    covers: 'some',
    shown: deletes === undefined ? [] : [deletes.column],
    content: Object.keys(columns ?? {}),
  }
}

/** Workers process waiting facts and facts parked behind one that blocked its key. */
function leavesWork<M>(gap: GapPolicy<M> | undefined): boolean {
  return gap === 'fail fast' || isWait(gap)
}

function isWait<M>(gap: GapPolicy<M> | undefined): boolean {
  return typeof gap === 'object' && gap?.policy === 'wait'
}
