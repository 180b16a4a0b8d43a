import { keyCount } from '../workload.ts'

export const evenPartitions = 4
export const unevenPartitions = 64

/**
 * All records of a key are in one partition: four loaded alike, or 64 whose n-th gets an n-th of what the
 * first gets.
 */
export function partitionOf(key: number, partitions: number): number {
  return partitions === unevenPartitions ? unevenPlaces[key]! : key % partitions
}

const unevenPlaces = placesByWeight(Array.from({ length: unevenPartitions }, (_, index) => 1 / (index + 1)))

function placesByWeight(weights: readonly number[]): readonly number[] {
  const whole = weights.reduce((sum, weight) => sum + weight, 0)
  const places: number[] = []
  let partition = 0
  let upTo = weights[0]!
  for (let key = 0; key < keyCount; key++) {
    while (((key + 0.5) / keyCount) * whole > upTo) upTo += weights[++partition]!
    places.push(partition)
  }
  return places
}
