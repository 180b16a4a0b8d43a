import type { SimulationReport } from 'onceward/testing'

/**
 * What a person needs of a failed run: which schedule, what broke, what led to it, and how to see it again.
 */
export function readable({ failure, scenario }: SimulationReport): string {
  if (failure === undefined) return ''
  const { seed, step, invariant, what, trace, faults } = failure
  return [
    `Schedule ${seed} of "${scenario}" broke "${invariant}" at step ${step}: ${what}`,
    ...(trace.length > 400 ? [...trace.slice(0, 300), '        …', ...trace.slice(-100)] : trace),
    `Again: npm run simulate -- --schedules 1 --seed ${seed} --scenario "${scenario}" --faults "${faults.join(',')}"`,
  ].join('\n')
}
