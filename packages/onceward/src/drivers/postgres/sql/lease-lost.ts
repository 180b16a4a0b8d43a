import { OncewardError } from '../../../errors.ts'

/** The error of a worker whose lease expired: another worker has the rows, or finished them. */
export function leaseLost(rows: readonly string[]): OncewardError {
  return new OncewardError(
    'lease_lost',
    `The lease of ${rows.length} stored message${rows.length === 1 ? '' : 's'} expired before the work was done. Nothing was committed; another worker has them.`,
    { details: { rows } },
  )
}
