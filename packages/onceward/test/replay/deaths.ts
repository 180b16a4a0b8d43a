import type { ReplayPoint } from '../crash/scenarios.ts'

export interface Death {
  /** In which kind of campaign the window exists. */
  readonly mode: 'replay' | 'forensic' | 'rebuild'
  readonly step: 'run' | 'swap' | 'rollBack'
  /** Passages at which a process dies, one run each. */
  readonly hits: readonly number[]
}

export const replayDeaths: Record<ReplayPoint, Death> = {
  'replay.taken': { mode: 'replay', step: 'run', hits: [1] },
  'replay.journaled': { mode: 'replay', step: 'run', hits: [1, 5] },
  'replay.undone': { mode: 'forensic', step: 'run', hits: [1, 5] },
  'replay.ended': { mode: 'replay', step: 'run', hits: [1] },
  'swap.moved': { mode: 'rebuild', step: 'swap', hits: [1] },
  'swap.done': { mode: 'rebuild', step: 'swap', hits: [1] },
  'swap.undone': { mode: 'rebuild', step: 'rollBack', hits: [1] },
}
