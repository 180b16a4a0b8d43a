import { type Baseline, cleanRun } from './clean-run.ts'
import type { FedMessage } from './feed.ts'
import { type Judgement, judgeRun } from './judge-run.ts'
import { planFaults } from './plan-faults.ts'
import type { Bench } from './run-scenario.ts'

/** Faults of the same class that are tried on a smaller set of messages. */
const faultsTried = 3

/**
 * The failure with the fewest messages that is found before the time is over: one message, then two, then
 * half of them. The moment of the fault is chosen again, because fewer messages have fewer statements.
 */
export async function shrink(
  bench: Bench,
  baseline: Baseline,
  failure: Judgement,
  isTime: () => boolean,
): Promise<Judgement> {
  for (const messages of smallerSets(failure.messages)) {
    if (!isTime()) return failure
    const clean = await cleanRun(bench, messages, baseline)
    const { faults } = planFaults(bench.facts, clean.observed, messages, {
      seed: bench.seed,
      only: [failure.fault.class],
    })
    for (const fault of faults.slice(0, faultsTried)) {
      if (!isTime()) return failure
      const again = await judgeRun(bench, clean, messages, fault)
      if (again.verdict === 'failed') return again
    }
  }
  return failure
}

/** At most twelve sets, smallest first. */
function smallerSets(messages: readonly FedMessage[]): FedMessage[][] {
  const sets: FedMessage[][] = []
  const count = messages.length
  if (count > 1) sets.push([messages[0]!], [messages[count - 1]!])
  if (count > 2) {
    const pairs = messages.flatMap((one, at) => messages.slice(at + 1).map(other => [one, other]))
    const sameKey = pairs.filter(([one, other]) => one!.key !== null && one!.key === other!.key)
    sets.push(...[...sameKey, ...pairs].slice(0, 6))
  }
  if (count > 4) sets.push(messages.slice(0, count / 2), messages.slice(count / 2))
  return sets
}
