import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { pages, pageText, root } from './pages.ts'

test('every link within the repository leads somewhere', () => {
  const broken = pages.flatMap(page =>
    linksOf(page)
      .filter(link => {
        const [path = '', anchor] = link.split('#')
        const target = path === '' ? page : relative(root, join(root, dirname(page), path))
        if (!existsSync(join(root, target))) return true
        return anchor !== undefined && !anchorsOf(target).includes(anchor)
      })
      .map(link => `${page}: ${link}`),
  )
  assert.deepEqual(broken, [])
})

test('every page of the docs can be reached from their index', () => {
  const reached = new Set(['docs/README.md'])
  for (const page of reached) {
    for (const link of linksOf(page)) {
      const target = relative(root, join(root, dirname(page), link.split('#')[0]!))
      if (target.endsWith('.md') && existsSync(join(root, target))) reached.add(target)
    }
  }
  assert.deepEqual(
    pages.filter(page => page.startsWith('docs/') && !reached.has(page)),
    [],
  )
})

function linksOf(page: string): string[] {
  const text = pageText(page).replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter(link => !/^[a-z]+:/.test(link))
}

/** As GitHub makes them: lower case, punctuation gone, spaces to hyphens. */
function anchorsOf(page: string): string[] {
  const headings = [...pageText(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading!)
  return headings.map(heading =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  )
}
