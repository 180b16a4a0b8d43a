import { duration } from './time.tsx'

export function count(value: number): string {
  return value.toLocaleString('en')
}

export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

export function bytes(value: number): string {
  if (value < 1_000) return `${value} B`
  return value < 1_000_000 ? `${(value / 1_000).toFixed(1)} kB` : `${(value / 1_000_000).toFixed(1)} MB`
}

/** Messages per second: enough digits to see a change. */
export function perSecond(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–'
  if (value === 0) return '0/s'
  if (value < 0.1) return `${Math.max(1, Math.round(value * 60))}/min`
  return value < 10 ? `${value.toFixed(1)}/s` : `${count(Math.round(value))}/s`
}

/** The value of an objective with its unit. */
export function measured(value: number | null, unit: string): string {
  if (value === null) return '–'
  if (unit === 'share') return `${(value * 100).toFixed(value > 0 && value < 0.1 ? 1 : 0)} %`
  return unit === 's' ? duration(value) : count(value)
}

/** `businessKeys` as `business keys`. */
export function spaced(name: string): string {
  return name.replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
}
