import { effectRunbooks } from './runbooks/effects.ts'
import { failureRunbooks } from './runbooks/failures.ts'
import { flowRunbooks } from './runbooks/flow.ts'
import { heldRunbooks } from './runbooks/held.ts'
import { repeatRunbooks } from './runbooks/repeats.ts'
import { serverRunbooks } from './runbooks/server.ts'
import type { Runbook } from './step.ts'

/** One runbook for every alert, and those for situations that no metric shows. */
export const runbooks: readonly Runbook[] = [
  ...flowRunbooks,
  ...repeatRunbooks,
  ...failureRunbooks,
  ...heldRunbooks,
  ...effectRunbooks,
  ...serverRunbooks,
]
