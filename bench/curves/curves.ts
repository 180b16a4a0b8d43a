import type { PreparedPlace } from '../place.ts'
import { backlogCurve } from './backlog.ts'
import { consumersCurve } from './consumers.ts'
import { markersCurve } from './markers.ts'
import { partitionsCurve } from './partitions.ts'
import { payloadCurve } from './payload.ts'

/** What one message costs as something grows. */
export interface Curve {
  readonly name: string
  /** What grows. */
  readonly axis: string
  readonly points: readonly Point[]
}

export interface Point {
  readonly at: number
  /** Microseconds of time for each message; the median of the rounds. */
  readonly micros: number
  /** Microseconds of the consumer's processor time for each message. */
  readonly cpuMicros: number
}

export interface CurvesPlan {
  readonly rounds: number
  /** A tenth of everything, for a look. */
  readonly quick: boolean
}

export type MeasureCurve = (
  place: PreparedPlace,
  plan: CurvesPlan,
  say: (line: string) => void,
) => Promise<readonly Curve[]>

const measures: readonly MeasureCurve[] = [
  payloadCurve,
  partitionsCurve,
  consumersCurve,
  backlogCurve,
  markersCurve,
]

export async function measureCurves(
  place: PreparedPlace,
  plan: CurvesPlan,
  say: (line: string) => void,
): Promise<readonly Curve[]> {
  const curves: Curve[] = []
  for (const measure of measures) curves.push(...(await measure(place, plan, say)))
  return curves
}
