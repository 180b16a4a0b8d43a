import { oneLine } from './output.ts'

/**
 * Rows as aligned columns. Line breaks in a cell are removed, so that its text cannot imitate a row. A table
 * that is wider than the terminal loses its empty columns; if it is still too wide, each row becomes a block
 * of one line per column, as in psql's expanded display: nothing is cut. Output into a file or a pipe keeps
 * its lines, unless `COLUMNS` gives a width.
 */
export function table(
  head: readonly string[],
  rows: readonly (readonly unknown[])[],
  widthMax: number = terminalWidth(),
): string {
  const cells = rows.map(row => row.map(cell => oneLine(String(cell ?? ''))))
  const whole = aligned([head, ...cells])
  if (cells.length === 0 || fits(whole, widthMax)) return whole
  const filled = head.flatMap((_, column) => (cells.some(row => row[column] !== '') ? [column] : []))
  const narrow = aligned([head, ...cells].map(row => filled.map(column => row[column]!)))
  return fits(narrow, widthMax) ? narrow : expanded(head, cells)
}

function terminalWidth(): number {
  const named = Number(process.env.COLUMNS)
  if (Number.isInteger(named) && named > 0) return named
  return process.stdout.columns ?? Number.POSITIVE_INFINITY
}

function fits(text: string, widthMax: number): boolean {
  return text.split('\n').every(line => line.length <= widthMax)
}

function aligned(cells: readonly (readonly string[])[]): string {
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map(row => row[column]!.length)))
  return cells
    .map(row =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function expanded(head: readonly string[], cells: readonly (readonly string[])[]): string {
  const width = Math.max(...head.map(name => name.length))
  return cells
    .map(row =>
      head
        .flatMap((name, column) => (row[column] === '' ? [] : [`${name.padEnd(width)}  ${row[column]}`]))
        .join('\n'),
    )
    .join('\n\n')
}
