import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, matchesGlob } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { crashPoints } from '../../src/crash-points.ts'

const home = join(dirname(fileURLToPath(import.meta.url)), '../..')
const text = readFileSync(join(home, '../../ARCHITECTURE.md'), 'utf8')
const files = [
  ...globSync('{src,test}/**/*.ts', { cwd: home }),
  ...globSync('scripts/**/*.ts', { cwd: join(home, '../..') }),
]

const pages = globSync('docs/internals/*.md', { cwd: join(home, '../..') })

function missingFiles(page: string): string[] {
  const names = [...page.matchAll(/`([\w./*-]+(?:\.ts|\/))`/g)].map(([, name]) => name!)
  return names.filter(name => {
    const wanted = name.endsWith('/') ? `**/${name}**` : `**/${name}`
    return !files.some(file => matchesGlob(file, wanted))
  })
}

describe('ARCHITECTURE.md', () => {
  test('names files and folders that exist', () => {
    assert.deepEqual(missingFiles(text), [])
  })

  test('walks from the source of a message to its acknowledgement in at most 14 files', () => {
    const walk = text.slice(text.indexOf('\n1. **'), text.indexOf('Other ways through'))
    const steps = [...walk.matchAll(/^\d+\. \*\*`([\w./*-]+\.ts)`\*\*/gm)].map(([, file]) => file!)
    const named = new Set([...walk.matchAll(/`([\w./*-]+\.ts)`/g)].map(([, file]) => file!))
    assert.deepEqual([...named], steps)
    assert.ok(steps.length > 10 && steps.length <= 14, `${steps.length} files`)
    const missing = steps.filter(step => !files.some(file => matchesGlob(file, `src/${step}`)))
    assert.deepEqual(missing, [])
  })

  test('walks through files of the engine that import each other', () => {
    const walk = text.slice(text.indexOf('\n1. **'), text.indexOf('Other ways through'))
    const engine = [...walk.matchAll(/\*\*`((?:engine|message)\/[\w./-]+\.ts)`\*\*/g)].map(
      ([, file]) => file!,
    )
    const code = (file: string) => readFileSync(join(home, 'src', file), 'utf8')
    const unreached = engine.filter(
      (file, at) => at > 0 && !engine.some(other => code(other).includes(`/${basename(file)}'`)),
    )
    assert.deepEqual(unreached, [])
  })

  test('has at most 1,500 words', () => {
    assert.ok(text.split(/\s+/).filter(word => word !== '').length <= 1_500)
  })

  test('says of each crash point what the next process finds', () => {
    const table = text.slice(text.indexOf('| point |'), text.indexOf('## Decisions'))
    const points = [...table.matchAll(/`([a-z]+\.[a-z]+)`/g)].map(([, point]) => point!)
    assert.deepEqual(points.sort(), Object.keys(crashPoints).sort())
  })
})

describe('docs/internals', () => {
  for (const page of pages)
    test(`${page} names files and folders that exist`, () => {
      assert.deepEqual(missingFiles(readFileSync(join(home, '../..', page), 'utf8')), [])
    })
})
