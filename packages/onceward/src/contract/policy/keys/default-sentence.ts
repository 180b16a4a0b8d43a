import { durationMs, durationText } from '../../duration.ts'
import { computedDefault, type Option } from '../../options/option.ts'
import type { ValueKind } from '../../options/value-kind.ts'
import { sizeText } from '../read-size.ts'

/** The end of an option's line in the reference, such as `. Default: 500`. */
export function defaultSentence(option: Option): string {
  const { default: fallback, defaultText, kind } = option
  if (defaultText === null) return ''
  const isValue = fallback !== undefined && computedDefault(option) === null
  const text = defaultText ?? (isValue && kind.inFile !== null ? valueText(fallback, kind.inFile) : '')
  if (text === '') return ''
  if (text.startsWith(':')) return `. Default${text}`
  return text.startsWith('and ') ? `. Default ${text}` : `. Default: ${text}`
}

function valueText(value: unknown, { kind }: ValueKind): string {
  switch (kind) {
    case 'word':
    case 'text':
    case 'text or none':
      return `\`${value}\``
    case 'duration':
      return plainDuration(durationMs(value) ?? 0)
    case 'size':
      return sizeText(Number(value))
    default:
      return String(value)
  }
}

/** In the largest unit of which it has at least two, if there is one: 60s, 24h. */
function plainDuration(ms: number): string {
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1_000],
  ] as const
  const [unit, size] = units.find(([, one]) => ms >= 2 * one && ms % one === 0) ?? [null, 1]
  return unit === null ? durationText(ms) : `${ms / size}${unit}`
}
