import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { blocksIn, root } from './pages.ts'

const folder = 'packages/onceward/test/conformance'
const shown = blocksIn('ts').filter(({ page }) => page === 'docs/write-a-driver.md')

const files = ['sqlite-database', 'sqlite-source', 'sqlite-store'].map(name =>
  readFileSync(join(root, folder, `${name}.ts`), 'utf8'),
)

test('the driver on the page is the one that passes the suites', () =>
  assert.deepEqual(
    shown.slice(0, 3).map(({ code }) => code.trimEnd()),
    files.map(file => file.trimEnd()),
  ))

test('the source and the store on the page have at most 150 lines each', () => {
  for (const file of files) assert.ok(file.split('\n').length <= 150)
})

test('the page lists every group of the store port, and of its session', () => {
  const page = readFileSync(join(root, 'docs/write-a-driver.md'), 'utf8')
  for (const [port, file] of [
    ['Store', 'store.ts'],
    ['StoreSession', 'store-session.ts'],
  ] as const) {
    const code = readFileSync(join(root, 'packages/onceward/src/ports', file), 'utf8')
    const body = code.slice(code.indexOf(`export interface ${port}<`))
    const groups = [...body.slice(0, body.indexOf('\n}')).matchAll(/^ {2}(?:readonly )?(\w+)\?/gm)]
    assert.ok(groups.length > 4, `${groups.length} groups of ${port}`)
    assert.deepEqual(
      groups.map(([, name]) => `${port}.${name}`).filter(name => !page.includes(`\`${name}\``)),
      [],
    )
  }
})
