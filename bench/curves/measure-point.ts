import { ContenderProcess } from '../contender-process.ts'
import type { Task } from '../contenders/contender.ts'
import { median } from '../median.ts'
import type { PreparedPlace } from '../place.ts'
import type { Point } from './curves.ts'

interface PointToMeasure {
  readonly contender: string
  readonly at: number
  readonly rounds: number
  /** Fills what round `round` reads; round 0 only warms up. */
  prepare(round: number): Promise<Task>
}

export async function measurePoint(
  place: PreparedPlace,
  { contender, at, rounds, prepare }: PointToMeasure,
  say: (line: string) => void,
): Promise<Point> {
  const process = new ContenderProcess({ name: contender }, place, null)
  const micros: number[] = []
  const cpuMicros: number[] = []
  try {
    for (let round = 0; round <= rounds; round++) {
      const task = await prepare(round)
      await place.pool.query('checkpoint')
      const { seconds, cpuSeconds } = await process.consume(task)
      if (round === 0) continue
      micros.push((seconds * 1e6) / task.load.count)
      cpuMicros.push((cpuSeconds * 1e6) / task.load.count)
    }
  } finally {
    await process.end()
  }
  const point = { at, micros: median(micros), cpuMicros: median(cpuMicros) }
  say(`${contender}, ${at.toLocaleString('en-US')}: ${point.micros.toFixed(1)} us a message`)
  return point
}
