/** Names in lower case; a list when a header occurs more than once. */
export type ReplyHeaders = Readonly<Record<string, string | string[] | undefined>>

/**
 * Seconds, or a date. A date is taken relative to the target's own Date header, so the local clock does not
 * matter.
 */
export function retryAfterMs(headers: ReplyHeaders): number | null {
  const value = headers['retry-after']
  // A repeated header is ignored.
  if (typeof value !== 'string') return null
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000
  const waitMs = Date.parse(value) - Date.parse(String(headers.date))
  return Number.isNaN(waitMs) ? null : Math.max(0, waitMs)
}
