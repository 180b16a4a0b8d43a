import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { blocksIn, root } from './pages.ts'

test('the driver on the page is the one that passes the suites', () => {
  const driver = readFileSync(join(root, 'packages/onceward/test/conformance/sqlite-driver.ts'), 'utf8')
  const [shown] = blocksIn('ts').filter(({ page }) => page === 'docs/write-a-driver.md')
  assert.equal(shown?.code.trimEnd(), driver.trimEnd())
})
