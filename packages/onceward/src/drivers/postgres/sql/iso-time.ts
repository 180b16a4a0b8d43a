/**
 * A time as text that every session reads alike: a cast would use the date style of the session, with a zone
 * that another session may misread.
 */
export const isoTime = (time: string) =>
  `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
