import type { ReplayPoint } from '../crash/scenarios.ts'

/** In which kind of campaign each window exists, and at which passages a process dies in it. */
export const replayDeaths: Record<
  ReplayPoint,
  { readonly mode: 'replay' | 'forensic'; readonly hits: readonly number[] }
> = {
  'replay.taken': { mode: 'replay', hits: [1] },
  'replay.booked': { mode: 'replay', hits: [1, 5] },
  'replay.undone': { mode: 'forensic', hits: [1, 5] },
  'replay.ended': { mode: 'replay', hits: [1] },
}
