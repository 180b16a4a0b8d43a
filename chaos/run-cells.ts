import type { Options } from './options.ts'
import { deadlineMsOf, produceMsOf } from './repeat.ts'
import { type CellRequest, type CellResult, type Play, runCell } from './run-cell.ts'

export interface Machine extends Pick<CellRequest, 'available' | 'clockLibrary' | 'say'> {
  /** Called for each cell once it has ended. */
  readonly found: (result: CellResult) => void
}

/** One cell after the other, until all have run or the command is to end. */
export async function runCells(
  { cells, minutes, seed, short, keep }: Options,
  { found, ...machine }: Machine,
  signal: AbortSignal,
  play?: Play,
): Promise<CellResult[]> {
  const produceMs = produceMsOf(minutes, cells.length)
  const results: CellResult[] = []
  for (const [n, cell] of cells.entries()) {
    if (signal.aborted) break
    const deadlineMs = deadlineMsOf(produceMs)
    const request = { cell, seed: seed + n, produceMs, deadlineMs, short, keep, ...machine }
    const result = await runCell(request, signal, play).catch(error => {
      if (!signal.aborted) throw error
      return null
    })
    if (result === null) break
    results.push(result)
    found(result)
  }
  return results
}
