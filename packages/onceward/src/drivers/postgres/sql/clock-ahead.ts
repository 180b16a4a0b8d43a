/** A lease that is this many times longer than the lease of the caller was written by a wrong clock. */
const longerMax = 10

/**
 * SQL: the lease has expired. If the database clock was ahead when a holder crashed, its lease would last as
 * long as the jump, so an end far beyond any lease counts as passed. A holder may be configured with a lease
 * of up to ten times that of the caller (`leaseMs`, an expression) and keeps it. A live holder that is taken
 * for dead after such a jump loses what any expired holder loses: its epoch, id or row is gone, so it commits
 * nothing more.
 */
export const leaseEnded = (until: string, now: string, leaseMs: string) =>
  `(${until} <= ${now} or ${until} > ${now} + ${longerMax} * ${leaseMs}::float8 * interval '1 millisecond')`

/**
 * How far ahead, in milliseconds, a row of the ledger can be due: its lease or its longest delay, with room
 * for another configuration.
 */
export const dueAheadMaxMs = (leaseMs: number, delayMaxMs: number) =>
  Math.max(longerMax * leaseMs, 2 * delayMaxMs)

/**
 * SQL: the run sent a heartbeat within this time. A heartbeat from further ahead was written by a wrong
 * clock, and proves nothing.
 */
export const isHeard = (heardAt: string, within: string) =>
  `${heardAt} between clock_timestamp() - interval '${within}' and clock_timestamp() + interval '${within}'`
