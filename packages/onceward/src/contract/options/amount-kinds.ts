import { wholeNumber as checkWholeNumber, type Report } from '../check-values.ts'
import { durationMaxMs, durationMs, durationText } from '../duration.ts'
import type { Duration } from '../upkeep-sections.ts'
import type { ValueCheck } from './kind.ts'

export function wholeNumber(min: number, max: number): ValueCheck<number> {
  return {
    holds: 'value',
    check: (value, place, wrong) => checkWholeNumber(value, place, min, max, wrong),
    inFile: { kind: 'count', min, max },
  }
}

/** A whole number of milliseconds. The option's name ends in `Ms`; a policy file writes the unit instead. */
export function milliseconds(min: number, max: number, { fileMax = max } = {}): ValueCheck<number> {
  return { ...wholeNumber(min, max), inFile: { kind: 'duration', min, max: fileMax } }
}

/** A whole number of units of `unitBytes` bytes. */
export function size(min: number, max: number, unitBytes = 1): ValueCheck<number> {
  const inFile = { kind: 'size' as const, min: min * unitBytes, max: max * unitBytes, unitBytes }
  return { ...wholeNumber(min, max), inFile }
}

export function orNull<T>(kind: ValueCheck<T>): ValueCheck<T | null> {
  const check = (value: unknown, place: string, wrong: Report) =>
    value === null ? undefined : kind.check(value, place, wrong)
  return { ...kind, check, takesNull: true } as ValueCheck<T | null>
}

interface DurationBounds {
  readonly min?: number
  readonly max?: number
  /** Example durations, in the order the message lists them. */
  readonly examples: string
  readonly outOfRange?: string
}

/** Milliseconds, or a text with a unit. */
export function duration({
  min = 0,
  max = durationMaxMs,
  examples,
  outOfRange,
}: DurationBounds): ValueCheck<Duration> {
  const check = (value: unknown, place: string, wrong: Report) => {
    const ms = durationMs(value)
    if (ms === null) wrong(place, `must be a number of milliseconds or a string such as ${examples}`)
    else if (ms < min || ms > max)
      wrong(place, outOfRange ?? `must be from ${durationText(min)} to ${durationText(max)}`)
  }
  return { holds: 'value', check, inFile: { kind: 'duration', min, max }, resolve: inMs }
}

function inMs(value: unknown): unknown {
  return typeof value === 'number' ? value : durationMs(value)
}

export const share: ValueCheck<number> = {
  holds: 'value',
  check: (value, place, wrong) => {
    if (!(typeof value === 'number' && value > 0 && value <= 1))
      wrong(place, 'must be a share: more than 0, at most 1')
  },
  inFile: { kind: 'share' },
}
