import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, matchesGlob } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { crashPoints } from '../../src/crash-points.ts'

const home = join(dirname(fileURLToPath(import.meta.url)), '../..')
const text = readFileSync(join(home, '../../ARCHITECTURE.md'), 'utf8')
const files = [
  ...globSync('{src,test}/**/*.ts', { cwd: home }),
  ...globSync('scripts/**/*.ts', { cwd: join(home, '../..') }),
]

describe('ARCHITECTURE.md', () => {
  test('names files and folders that exist', () => {
    const names = [...text.matchAll(/`([\w./*-]+(?:\.ts|\/))`/g)].map(([, name]) => name!)
    assert.ok(names.length > 100)
    const missing = names.filter(name => {
      const wanted = name.endsWith('/') ? `**/${name}**` : `**/${name}`
      return !files.some(file => matchesGlob(file, wanted))
    })
    assert.deepEqual(missing, [])
  })

  test('says of each crash point what the next process finds', () => {
    const table = text.slice(text.indexOf('| point |'), text.indexOf('## Decisions'))
    const told = [...table.matchAll(/`([a-z]+\.[a-z]+)`/g)].map(([, point]) => point!)
    assert.deepEqual(told.sort(), Object.keys(crashPoints).sort())
  })
})
