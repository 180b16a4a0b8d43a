import type { IncomingHttpHeaders } from 'node:http'

/** Seconds, or a date: which is taken relative to the target's own Date header, so that our clock has no say. */
export function retryAfterMs(headers: IncomingHttpHeaders): number | null {
  const value = headers['retry-after']
  if (value === undefined) return null
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000
  const waitMs = Date.parse(value) - Date.parse(headers.date ?? '')
  return Number.isNaN(waitMs) ? null : Math.max(0, waitMs)
}
