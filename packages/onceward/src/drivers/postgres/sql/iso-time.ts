/**
 * A time as text that every session reads alike: a cast would write it in the session's style, with a zone
 * that another one may take for its own.
 */
export const isoTime = (time: string) =>
  `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
