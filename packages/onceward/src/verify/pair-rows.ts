import type { Difference } from './compare-snapshots.ts'
import type { SnapshotRow } from './snapshot.ts'

/** A row of the clean run beside the row of the failed run that is most like it. */
export interface RowPair {
  readonly clean: SnapshotRow | undefined
  readonly run: SnapshotRow | undefined
  /** Columns with other values; none if one of the rows does not exist. */
  readonly differing: ReadonlySet<string>
}

/** The rows of a difference in pairs. Rows without any equal column are not paired. */
export function pairRows({ missing, extra }: Difference): RowPair[] {
  const left = [...extra]
  const pairs = missing.map((clean): RowPair => {
    const [best] = left
      .map(run => ({ run, alike: columnsOf(clean, run).filter(isSame(clean, run)).length }))
      .sort((a, b) => b.alike - a.alike)
    if (best === undefined || best.alike === 0) return { clean, run: undefined, differing: new Set() }
    left.splice(left.indexOf(best.run), 1)
    const { run } = best
    const differing = columnsOf(clean, run).filter(column => !isSame(clean, run)(column))
    return { clean, run, differing: new Set(differing) }
  })
  return [...pairs, ...left.map((run): RowPair => ({ clean: undefined, run, differing: new Set() }))]
}

const columnsOf = (one: SnapshotRow, other: SnapshotRow) => [
  ...new Set([...Object.keys(one), ...Object.keys(other)]),
]

const isSame = (one: SnapshotRow, other: SnapshotRow) => (column: string) =>
  JSON.stringify(one[column]) === JSON.stringify(other[column])

/** A value as a person reads it. */
export const shownValue = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
