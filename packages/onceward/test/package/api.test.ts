import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import type { Declaration } from '../../../../scripts/api/declarations.ts'
import { apiReports, publicApi } from '../../../../scripts/api/report.ts'
import { root } from './pack.ts'

const home = join(root, 'packages', 'onceward')

describe('the public API', () => {
  let api: ReadonlyMap<string, readonly Declaration[]>
  before(() => {
    api = publicApi(root)
  })

  test('says of every name what it is', () => {
    const bare = [...api].flatMap(([door, all]) =>
      all.filter(({ comment }) => comment === '').map(({ name }) => `${door}: ${name}`),
    )
    assert.deepEqual(bare, [])
    assert.ok((api.get('index')?.length ?? 0) > 100)
  })

  test('is the one in the reports: "npm run reference" writes them anew', () => {
    const reports = apiReports(api)
    assert.deepEqual(globSync('api/*.d.ts', { cwd: home }).sort(), Object.keys(reports).sort())
    for (const [file, text] of Object.entries(reports))
      assert.equal(readFileSync(join(home, file), 'utf8'), text, file)
  })
})
