import type { ComponentChildren } from 'preact'

/**
 * Pages of our own (contracts, runbooks) as elements. It knows headings, paragraphs, lists, tables, code and
 * emphasis. Text becomes text nodes: markup in it is shown, never parsed.
 */
export function Markdown({ text }: { readonly text: string }) {
  return <div class="prose">{blocksOf(text.split('\n')).map(blockView)}</div>
}

type Block =
  | { readonly kind: 'heading'; readonly depth: number; readonly text: string }
  | { readonly kind: 'code'; readonly lines: readonly string[] }
  | { readonly kind: 'table'; readonly rows: readonly (readonly string[])[] }
  | { readonly kind: 'list'; readonly ordered: boolean; readonly items: readonly (readonly string[])[] }
  | { readonly kind: 'text'; readonly text: string }

const itemStart = /^(\s*)(?:[-*]|\d+\.)\s+(.*)$/

function blocksOf(lines: readonly string[]): Block[] {
  const blocks: Block[] = []
  for (let at = 0; at < lines.length; ) {
    const line = lines[at]!
    const take = (isPart: (line: string) => boolean) => {
      const from = at
      do at++
      while (at < lines.length && isPart(lines[at]!))
      return lines.slice(from, at)
    }
    const heading = /^(#{1,4})\s+(.*)$/.exec(line)
    if (line.trim() === '') at++
    else if (heading) {
      blocks.push({ kind: 'heading', depth: heading[1]!.length, text: heading[2]! })
      at++
    } else if (line.startsWith('```')) {
      const code = take(next => !next.startsWith('```')).slice(1)
      at++
      blocks.push({ kind: 'code', lines: code })
    } else if (line.startsWith('|')) blocks.push(tableOf(take(next => next.startsWith('|'))))
    else if (itemStart.test(line))
      blocks.push(listOf(take(next => itemStart.test(next) || /^\s{2,}\S/.test(next) || isBlankInside(next))))
    else
      blocks.push({
        kind: 'text',
        text: take(next => next.trim() !== '' && !/^(#|```|\||[-*] |\d+\. )/.test(next)).join(' '),
      })
  }
  return blocks
}

const isBlankInside = (line: string) => line.trim() === ''

function tableOf(lines: readonly string[]): Block {
  const cells = (line: string) =>
    line
      .replace(/^\||\|\s*$/g, '')
      .split(/(?<!\\)\|/)
      .map(cell => cell.trim().replaceAll('\\|', '|'))
  return { kind: 'table', rows: lines.filter(line => !/^\|[\s|:-]+\|?$/.test(line)).map(cells) }
}

/** The lines of an item, without its mark and its indentation: they are blocks again. */
function listOf(lines: readonly string[]): Block {
  const indent = itemStart.exec(lines[0]!)![1]!.length
  const items: string[][] = []
  for (const line of lines) {
    const start = itemStart.exec(line)
    if (start && start[1]!.length <= indent) items.push([start[2]!])
    else items.at(-1)!.push(line.replace(/^\s{1,4}/, ''))
  }
  return { kind: 'list', ordered: /^\s*\d/.test(lines[0]!), items }
}

function blockView(block: Block): ComponentChildren {
  switch (block.kind) {
    case 'heading':
      return block.depth <= 2 ? <h3>{inline(block.text)}</h3> : <h4>{inline(block.text)}</h4>
    case 'code':
      return <pre class="code">{block.lines.join('\n')}</pre>
    case 'text':
      return <p>{inline(block.text)}</p>
    case 'list': {
      const items = block.items.map(lines => <li>{blocksOf(lines).map(blockView)}</li>)
      return block.ordered ? <ol>{items}</ol> : <ul>{items}</ul>
    }
    case 'table':
      return <TableView rows={block.rows} />
  }
}

/** A first row of empty cells is no head: the table is a list of names and values. */
function TableView({ rows }: { readonly rows: readonly (readonly string[])[] }) {
  const [head, ...rest] = rows
  const isFacts = head!.every(cell => cell === '')
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    <div class="scroll" tabIndex={0} role="group" aria-label="Table">
      <table>
        {!isFacts && (
          <thead>
            <tr>
              {head!.map(cell => (
                <th>{inline(cell)}</th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {rest.map(row => (
            <tr>
              {row.map((cell, index) =>
                isFacts && index === 0 ? <th scope="row">{inline(cell)}</th> : <td>{inline(cell)}</td>,
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const marks = /(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*|\[[^\]]+\]\([^)\s]+\))/

/** Links show their text only: their addresses are of the documentation, not of the console. */
function inline(text: string): ComponentChildren {
  return text.split(marks).map(part => {
    if (part.startsWith('`')) return <code>{part.slice(1, -1)}</code>
    if (part.startsWith('**')) return <b>{part.slice(2, -2)}</b>
    if (/^\*[^*]/.test(part) && part.endsWith('*')) return <em>{part.slice(1, -1)}</em>
    return part.startsWith('[') ? part.replace(/^\[([^\]]+)\].*$/, '$1') : part
  })
}
