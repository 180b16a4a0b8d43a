import { signal } from '@preact/signals'

const now = signal(Date.now())
setInterval(() => {
  now.value = Date.now()
}, 1_000)

/** How long ago, with the exact time beside it: on hover, or shown with `both`. */
export function Time({ at, both = false }: { readonly at: string | null; readonly both?: boolean }) {
  if (at === null || at === undefined) return <span class="muted">–</span>
  const seconds = (now.value - Date.parse(at)) / 1000
  const exact = utc(at)
  return (
    <time dateTime={at} title={`${exact} UTC`}>
      {seconds < -5 ? `in ${duration(-seconds)}` : ago(seconds)}
      {both && <span class="exact">{shortUtc(at, now.value)}</span>}
    </time>
  )
}

export function utc(at: string): string {
  return new Date(at).toISOString().slice(0, 19).replace('T', ' ')
}

/** Without the date if it is today. */
function shortUtc(at: string, nowMs: number): string {
  const text = utc(at)
  const isToday = text.slice(0, 10) === new Date(nowMs).toISOString().slice(0, 10)
  return `${isToday ? text.slice(11) : text.slice(0, 16)} UTC`
}

export function ago(seconds: number): string {
  return seconds < 5 ? 'just now' : `${duration(seconds)} ago`
}

export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return '–'
  if (seconds < 60) return `${Math.max(0, Math.round(seconds))} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h`
  return seconds < 63_072_000
    ? `${Math.floor(seconds / 86_400)} d`
    : `${Math.floor(seconds / 31_536_000)} years`
}
