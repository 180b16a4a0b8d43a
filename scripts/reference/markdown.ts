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

/** Paragraphs and list items wrapped at 110 columns. Code blocks, tables and headings stay as they are. */
export function wrapped(text: string): string {
  const parts = text.split(/^( *```[^\n]*\n[\s\S]*?^ *```)$/m)
  return parts.map((part, index) => (index % 2 === 1 ? part : wrappedProse(part))).join('')
}

const columns = 110
const fixed = /^$|^#|^<!--|^\s*\|/

function wrappedProse(text: string): string {
  const blocks: string[] = []
  for (const line of text.split('\n')) {
    const last = blocks.at(-1)
    const continues =
      last !== undefined && !fixed.test(last) && !fixed.test(line) && !/^ *(- |\d+\. )/.test(line)
    if (continues) blocks[blocks.length - 1] = `${last} ${line.trim()}`
    else blocks.push(line)
  }
  return blocks.flatMap(wrappedBlock).join('\n')
}

function wrappedBlock(block: string): string[] {
  if (fixed.test(block)) return [block]
  const [start = ''] = block.match(/^ *(- |\d+\. )?/)!
  // Code spans and links stay whole.
  const words = block.slice(start.length).match(/(\[[^\]]*\]\([^)]*\)|`[^`]*`|\S)+/g) ?? []
  const lines = [start + words.shift()]
  for (const word of words) {
    const last = lines.at(-1)!
    if (last.length + 1 + word.length <= columns) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(' '.repeat(start.length) + word)
  }
  return lines
}
