/** Names in small letters; a list where one came more than once. */
export type ReplyHeaders = Readonly<Record<string, string | string[] | undefined>>

/**
 * Seconds, or a date: which is taken relative to the target's own Date header, so that our clock has no say.
 */
export function retryAfterMs(headers: ReplyHeaders): number | null {
  const value = headers['retry-after']
  // Said twice it says nothing.
  if (typeof value !== 'string') return null
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000
  const waitMs = Date.parse(value) - Date.parse(String(headers.date))
  return Number.isNaN(waitMs) ? null : Math.max(0, waitMs)
}
