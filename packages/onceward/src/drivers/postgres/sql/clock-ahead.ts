/**
 * How many times as long as the asker's own a lease may be before it counts as one that a wrong clock wrote.
 */
const longerMax = 10

/**
 * SQL: the holder of a lease may be succeeded. A database clock that was ahead when a holder died would make
 * its lease last as long as the jump, so an end far beyond any lease counts as passed. A holder may be
 * configured with a lease of up to ten times the asker's (`leaseMs`, an expression) and keeps it. One that
 * lives, and is taken for dead after such a jump, loses what any expired holder loses: its epoch, id or row
 * is gone, so it commits nothing more.
 */
export const leaseEnded = (until: string, now: string, leaseMs: string) =>
  `(${until} <= ${now} or ${until} > ${now} + ${longerMax} * ${leaseMs}::float8 * interval '1 millisecond')`

/**
 * How far ahead, in milliseconds, something of the ledger can be due: its lease or its longest delay, with
 * room for another configuration.
 */
export const dueAheadMaxMs = (leaseMs: number, delayMaxMs: number) =>
  Math.max(longerMax * leaseMs, 2 * delayMaxMs)

/**
 * SQL: a run gave a sign of life within this time. A sign from further ahead was written by a clock that was
 * wrong, and proves nothing.
 */
export const isHeard = (heardAt: string, within: string) =>
  `${heardAt} between clock_timestamp() - interval '${within}' and clock_timestamp() + interval '${within}'`
