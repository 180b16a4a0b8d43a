import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = join(dirname(fileURLToPath(import.meta.url)), '../../../..')

/** Everything a user reads. */
export const pages: readonly string[] = ['*.md', 'docs/**/*.md', 'examples/*/README.md']
  .flatMap(pattern => globSync(pattern, { cwd: root }))
  .map(page => page.replaceAll('\\', '/'))
  .sort()

export const pageText = (page: string): string => readFileSync(join(root, page), 'utf8')

/** A fenced block. `marks` are the words behind its language, which GitHub does not show. */
export interface Block {
  readonly page: string
  /** Line of the page on which the block's first line stands. */
  readonly line: number
  readonly language: string
  readonly marks: string
  readonly code: string
}

export function blocksOf(page: string): Block[] {
  const fence = /^( *)```([^\n`]*)\n([\s\S]*?)^\1```$/gm
  const text = pageText(page)
  return [...text.matchAll(fence)].map(({ index, 1: indent, 2: info, 3: code }) => {
    const [language = '', ...marks] = info!.trim().split(' ')
    return {
      page,
      line: text.slice(0, index).split('\n').length + 1,
      language,
      marks: marks.join(' '),
      code: code!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }
  })
}

export const allBlocks: readonly Block[] = pages.flatMap(blocksOf)

export const blocksIn = (language: string): Block[] =>
  allBlocks.filter(block => block.language === language && !block.marks.startsWith('unchecked'))

export const placeOf = ({ page, line }: Block): string => `${page}:${line}`
