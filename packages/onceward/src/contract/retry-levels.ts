import type { ClassRules } from './failure-rules.ts'

/** A longer wait than this many doublings gets the last level only. */
const levelsMax = 16

/**
 * Every delay the policy can come to without jitter, shortest first: each class's first delay doubled up to
 * its longest. Within a queue all messages wait equally long, so that none is behind one with a longer time
 * to live: brokers look at the head of a queue only.
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
