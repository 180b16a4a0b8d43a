import type { Diagnosis } from './diagnose.ts'
import type { FaultClass } from './fault.ts'
import type { Judgement } from './judge-run.ts'
import type { Plan } from './plan-faults.ts'

export interface StagedWork {
  readonly judged: readonly Judgement[]
  /** The clean runs were cut, so nothing could be planned. */
  readonly cleanCut: boolean
  /** From the start to the first fault, and from there to the end of the last. */
  readonly startMs: number
  readonly faultsMs: number
  readonly budgetMs: number
  /** The part of the budget in which faults start. */
  readonly share: number
}

/** Planned faults of which nothing is known, and the budget that would suffice; null if all is known. */
export interface NotStaged extends Diagnosis {
  readonly budget: string
}

/**
 * Classes without a single staged fault because the budget ended, or no staged fault at all. Otherwise a run
 * that staged nothing would look like a consumer that survived. Pure.
 */
export function notStaged(plan: Plan, work: StagedWork): NotStaged | null {
  const budget = `${Math.ceil(neededMs(plan, work) / 10_000) * 10}s`
  const fix = `--budget ${budget} should suffice on this machine. --only and --skip choose fewer classes.`
  if (work.cleanCut)
    return { what: 'The budget ended before the clean runs did, so no fault was staged.', fix, budget }
  const classes = [...new Set(plan.faults.map(fault => fault.class))]
  const missing = classes.filter(kind => isMissing(kind, plan, work.judged))
  if (missing.length > 0)
    return {
      what: `The budget ended before any fault of these classes was staged: ${missing.join(', ')}. Nothing is known about them.`,
      fix,
      budget,
    }
  if (classes.length === 0 || work.judged.some(isStaged)) return null
  return {
    what: `No fault was staged: the moment of ${classes.join(', ')} never came.`,
    fix: 'Choose another fault, or run all classes: the handler may have fewer statements than before.',
    budget,
  }
}

const isStaged = ({ verdict }: Judgement) => verdict === 'survived' || verdict === 'failed'

function isMissing(kind: FaultClass, { faults }: Plan, judged: readonly Judgement[]): boolean {
  const tried = judged.filter(({ fault }) => fault.class === kind)
  const wasTried = tried.filter(({ verdict }) => verdict !== 'cut').length
  return !tried.some(isStaged) && wasTried < faults.filter(fault => fault.class === kind).length
}

/** The first fault of each class, at the speed so far, with as much again for a slower moment. */
function neededMs({ faults }: Plan, work: StagedWork): number {
  const { judged, startMs, faultsMs, budgetMs, share } = work
  const ended = judged.filter(({ verdict }) => verdict !== 'cut').length
  const classes = new Set(faults.map(fault => fault.class)).size
  const eachMs = ended === 0 ? Math.max(startMs, faultsMs) : faultsMs / ended
  const needed = work.cleanCut ? startMs * 10 : (startMs + eachMs * classes * 2) / share
  return Math.max(needed, budgetMs * 2)
}
