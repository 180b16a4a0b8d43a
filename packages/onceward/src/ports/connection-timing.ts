import { OncewardError } from '../errors.ts'

export interface ConnectionTiming {
  /** A peer that is silent for two of these, at the latest for three, is disconnected. */
  readonly heartbeatS: number
  /** The longest wait for a host to answer. */
  readonly connectMs: number
}

/**
 * Parameters of the address, under the names of RabbitMQ's clients: `heartbeat` in seconds,
 * `connection_timeout` in milliseconds. A heartbeat of five seconds detects a frozen node within 15 seconds
 * and still outlasts a pause of the process; RabbitMQ advises against less.
 */
export function timingOf(url: string, who: string): ConnectionTiming {
  const { searchParams: query } = new URL(url)
  return {
    heartbeatS: read(query, 'heartbeat', 5, { min: 1, max: 600, unit: 'seconds' }, who),
    connectMs: read(
      query,
      'connection_timeout',
      5_000,
      { min: 100, max: 600_000, unit: 'milliseconds' },
      who,
    ),
  }
}

function read(
  query: URLSearchParams,
  name: string,
  usual: number,
  { min, max, unit }: { readonly min: number; readonly max: number; readonly unit: string },
  who: string,
): number {
  const text = query.get(name)
  if (text === null) return usual
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw new OncewardError(
    'configuration',
    `${who}: ${name} in its address must be a whole number of ${unit} from ${min} to ${max}. Nothing was opened and nothing is lost.`,
  )
}
