import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { blocksIn, root } from './pages.ts'

const folder = 'packages/onceward/test/conformance'
const shown = blocksIn('ts').filter(({ page }) => page === 'docs/write-a-driver.md')

describe('a driver on the page', () => {
  for (const [index, name] of ['sqlite-database', 'sqlite-source', 'sqlite-store'].entries()) {
    const file = readFileSync(join(root, folder, `${name}.ts`), 'utf8')
    test(`${name}.ts is the one that passes the suites`, () =>
      assert.equal(shown[index]?.code.trimEnd(), file.trimEnd()))
    test(`${name}.ts has at most 150 lines`, () => assert.ok(file.split('\n').length <= 150))
  }
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
