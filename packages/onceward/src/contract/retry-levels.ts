import type { ClassRules } from './failure-rules.ts'

/** Waits beyond this many doublings share the last level. */
const levelsMax = 16

/**
 * Every delay the policy can produce without jitter, shortest first: the first delay of each class, doubled
 * up to its longest. All messages of one queue wait equally long, because brokers expire messages only at the
 * head of a queue.
 */
export function retryLevelsMs(rules: Iterable<ClassRules>): number[] {
  const levels = new Set<number>()
  for (const { attemptsMax, delayMs, delayMaxMs } of rules) {
    if (attemptsMax < 2) continue
    const longest = Math.max(1, delayMaxMs)
    let level = Math.min(Math.max(1, delayMs), longest)
    for (let count = 1; count < levelsMax && level < longest; count++, level *= 2) levels.add(level)
    levels.add(longest)
  }
  return [...levels].sort((a, b) => a - b)
}
