import { leakKinds } from './diagnose.ts'
import { type FaultClass, faultClasses } from './fault.ts'
import type { Judgement } from './judge-run.ts'
import type { Plan } from './plan-faults.ts'
import type { ClassResult } from './report.ts'

export interface StagedFaults {
  readonly judged: readonly Judgement[]
  /** Failures that clean runs showed. */
  readonly watchedCount: number
  /** How the class `restart` was staged, where that was not by a restart. */
  readonly restartNote: string
}

/** The table of a report: what was watched, then each class that was planned or does not apply. Pure. */
export function classResults(plan: Plan, staged: StagedFaults): ClassResult[] {
  const kinds = Object.keys(faultClasses) as FaultClass[]
  return [watchedClass(staged), ...kinds.flatMap(kind => classResult(kind, plan, staged))]
}

function watchedClass({ watchedCount }: StagedFaults): ClassResult {
  // The kinds of leaks, identities and keys.
  const of = leakKinds.length + 2
  const title = 'watched while it ran: connections, network, files, statements, keys'
  return { class: 'leak', title, survived: of - Math.min(of, watchedCount), of, note: '' }
}

function classResult(
  kind: FaultClass,
  { faults, skipped }: Plan,
  { judged: all, restartNote }: StagedFaults,
): ClassResult[] {
  const planned = faults.filter(fault => fault.class === kind)
  if (planned.length === 0 && skipped[kind] === undefined) return []
  const judged = all.filter(({ fault }) => fault.class === kind)
  const reached = judged.filter(({ verdict }) => verdict === 'survived' || verdict === 'failed')
  const survived = reached.filter(({ verdict }) => verdict === 'survived').length
  const left = planned.length - judged.filter(({ verdict }) => verdict !== 'cut').length
  const note =
    skipped[kind] ??
    (left > 0
      ? `${left} not run: the budget ended`
      : reached.length === 0
        ? 'the moment of the fault never came'
        : kind === 'restart'
          ? restartNote
          : '')
  return [{ class: kind, title: faultClasses[kind], survived, of: reached.length, note }]
}
