const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000, y: 31_536_000_000 }

/**
 * A thousand years. A longer duration is a typing error, and PostgreSQL must be able to subtract it from now.
 */
export const durationMaxMs = 1_000 * unitMs.y

/**
 * A duration of a contract in milliseconds: a whole number, or '90s', '36h', '30d'. Null if it is unreadable.
 */
export function durationMs(value: unknown): number | null {
  if (typeof value === 'number') return isDuration(value) ? value : null
  const parts = typeof value === 'string' ? /^(\d{1,15}(?:\.\d{1,3})?) ?(ms|s|m|h|d|w|y)$/.exec(value) : null
  if (parts === null) return null
  const ms = Math.round(Number(parts[1]) * unitMs[parts[2] as keyof typeof unitMs])
  return isDuration(ms) ? ms : null
}

const shown = [
  ['y', unitMs.y],
  ['d', unitMs.d],
  ['h', unitMs.h],
  ['m', unitMs.m],
  ['s', unitMs.s],
] as const

/**
 * For people: in the largest unit that divides it, else with one decimal in the largest unit of which it has
 * two.
 */
export function durationText(ms: number): string {
  const [unit, size] = shown.find(([, one]) => ms >= one && ms % one === 0) ??
    shown.find(([, one]) => ms >= 2 * one) ?? ['ms', 1]
  return `${Number((ms / size).toFixed(1))}${unit}`
}

function isDuration(ms: number): boolean {
  return Number.isSafeInteger(ms) && ms >= 0 && ms <= durationMaxMs
}
