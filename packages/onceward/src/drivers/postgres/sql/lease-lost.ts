import { OncewardError } from '../../../errors.ts'

/** What a worker meets whose lease ran out: the work is somebody else's now, or done. */
export function leaseLost(rows: readonly string[]): OncewardError {
  return new OncewardError(
    'lease_lost',
    `The claim of ${rows.length} stored message${rows.length === 1 ? '' : 's'} ran out before the work was done. Nothing was committed; another worker has them.`,
    { details: { rows } },
  )
}
