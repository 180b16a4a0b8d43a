/** Text for a table cell: a bar would end it, a line end would end the table. */
export const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ')

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** A generated page. */
export function page(title: string, intro: string, ...sections: readonly string[]): string {
  const origin = '<!-- Written by `npm run reference`; change the code, not this page. -->'
  return `${[`# ${title}`, origin, intro, ...sections].join('\n\n')}\n`
}

/** The text with the table of the same head replaced. */
export function replaceTable(text: string, written: string, where: string): string {
  const lines = text.split('\n')
  const from = lines.indexOf(written.split('\n')[0]!)
  if (from === -1) throw new Error(`${where} has no table with the head ${written.split('\n')[0]}`)
  const length = lines.slice(from).findIndex(line => !line.startsWith('|'))
  return lines.toSpliced(from, length === -1 ? lines.length - from : length, written).join('\n')
}
