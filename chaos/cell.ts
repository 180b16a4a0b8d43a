export const sources = ['quorum', 'stream', 'kafka', 'postgres'] as const
export const databases = ['direct', 'pgbouncer', 'standby'] as const

export type SourceKind = (typeof sources)[number]
export type DatabaseKind = (typeof databases)[number]

/** One combination of a source and a way to reach PostgreSQL. */
export interface Cell {
  readonly source: SourceKind
  readonly database: DatabaseKind
}

export const cellName = ({ source, database }: Cell): string => `${source}/${database}`

export const allCells: readonly Cell[] = databases.flatMap(database =>
  sources.map(source => ({ source, database })),
)

/** Reads `kafka/standby,quorum`: a name without a slash means every cell with that source or database. */
export function readCells(text: string): readonly Cell[] {
  const chosen = text.split(',').map(name => {
    const found = allCells.filter(
      cell => cellName(cell) === name || cell.source === name || cell.database === name,
    )
    if (found.length === 0)
      throw new Error(`There is no cell ${name}. Cells: ${allCells.map(cellName).join(', ')}.`)
    return found
  })
  return allCells.filter(cell => chosen.some(found => found.includes(cell)))
}
