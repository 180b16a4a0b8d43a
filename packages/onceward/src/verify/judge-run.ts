import type { Baseline } from './clean-run.ts'
import { usualEnvironment } from './clean-run.ts'
import { compareSnapshots, type Difference } from './compare-snapshots.ts'
import type { Fault, FaultClass } from './fault.ts'
import type { FedMessage } from './feed.ts'
import type { BrokenInvariant } from './invariants.ts'
import { type Bench, type RunResult, runScenario } from './run-scenario.ts'

/** How a run under a fault ended. */
export interface Judgement {
  readonly fault: Fault
  readonly messages: readonly FedMessage[]
  readonly verdict: 'survived' | 'failed' | 'not reached' | 'cut'
  readonly differences: readonly Difference[]
  readonly broken: readonly BrokenInvariant[]
  readonly trouble: string | null
}

/** These add messages of their own, whose outcomes the clean run does not have. */
const ownOutcomes: readonly FaultClass[] = ['conflict', 'resent', 'poison', 'rebuild', 'campaign']
/** One message after the other: only the order, or only the repetition, may make a difference. */
const serialClasses: readonly FaultClass[] = ['order', 'twice', 'late', 'conflict', 'resent', 'poison']

/** Runs the consumer under a fault and compares what is left with the clean run. */
export async function judgeRun(
  bench: Bench,
  baseline: Baseline,
  messages: readonly FedMessage[],
  fault: Fault,
): Promise<Judgement> {
  const serial = serialClasses.includes(fault.class) || isSerialFault(fault)
  const result = await runScenario(bench, { messages, fault, serial, environment: usualEnvironment })
  return judge(baseline, result, messages, { fault, ordered: bench.facts.order !== 'none' })
}

/** Statements were counted in a serial run, and only there a batch is followed by another one. */
function isSerialFault({ trigger, number }: Fault): boolean {
  return trigger?.on === 'statement' || (trigger?.hit ?? number) > 1
}

function judge(
  baseline: Baseline,
  { snapshot, reached, trouble, broken, cut }: RunResult,
  messages: readonly FedMessage[],
  { fault, ordered }: { readonly fault: Fault; readonly ordered: boolean },
): Judgement {
  if (cut) return { fault, messages, verdict: 'cut', differences: [], broken: [], trouble: null }
  const outcomes = !ownOutcomes.includes(fault.class)
  const differences = compareSnapshots(baseline.snapshot, snapshot, baseline.masks, { outcomes, ordered })
  const fine = differences.length === 0 && trouble === null && broken.length === 0
  const verdict = fine ? (reached ? 'survived' : 'not reached') : 'failed'
  return { fault, messages, verdict, differences, broken, trouble }
}
