import { type Baseline, cleanRun } from './clean-run.ts'
import type { FaultClass } from './fault.ts'
import type { FedMessage } from './feed.ts'
import { type FailsWith, fewestMessages } from './fewest-messages.ts'
import { type Judgement, judgeRun } from './judge-run.ts'
import { planFaults } from './plan-faults.ts'
import type { Bench } from './run-scenario.ts'

/** Faults of the same class that are tried on a smaller set of messages. */
const faultsTried = 3

/**
 * The failure with the fewest messages: first small sets are tried, then messages are left out one by one
 * until none can be, or the time is over. The moment of the fault is chosen again, because fewer messages
 * have fewer statements.
 */
export async function shrink(
  bench: Bench,
  baseline: Baseline,
  failure: Judgement,
  isTime: () => boolean,
): Promise<Judgement> {
  const failsWith = (messages: readonly FedMessage[]) =>
    repeatWith(bench, baseline, { messages, class: failure.fault.class }, isTime)
  const smaller = (await firstFailing(failure.messages, failsWith)) ?? failure
  return (await fewestMessages(smaller.messages, failsWith))?.failure ?? smaller
}

async function firstFailing(
  messages: readonly FedMessage[],
  failsWith: FailsWith<FedMessage, Judgement>,
): Promise<Judgement | null> {
  for (const set of smallerSets(messages)) {
    const found = await failsWith(set)
    if (found !== null) return found
  }
  return null
}

async function repeatWith(
  bench: Bench,
  baseline: Baseline,
  { messages, class: kind }: { readonly messages: readonly FedMessage[]; readonly class: FaultClass },
  isTime: () => boolean,
): Promise<Judgement | null> {
  if (!isTime()) return null
  const clean = await cleanRun(bench, messages, baseline)
  if (clean.cut) return null
  const { faults } = planFaults(bench.facts, clean.observed, messages, { seed: bench.seed, only: [kind] })
  for (const fault of faults.slice(0, faultsTried)) {
    if (!isTime()) return null
    const again = await judgeRun(bench, clean, messages, fault)
    if (again.verdict === 'failed') return again
  }
  return null
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
