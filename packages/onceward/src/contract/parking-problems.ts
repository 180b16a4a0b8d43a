import { isRecord, type Report, unknownKeys, wholeNumber } from './check-values.ts'

export function parkingProblems(parking: unknown, wrong: Report): void {
  if (parking === undefined) return
  if (!isRecord(parking)) return wrong('failure.parking', 'must be an object')
  unknownKeys(parking, 'failure.parking', 'failure.parking.', wrong)
  wholeNumber(parking.perKeyMax, 'failure.parking.perKeyMax', 1, 100_000_000, wrong)
  wholeNumber(parking.totalMax, 'failure.parking.totalMax', 1, 100_000_000, wrong)
}
