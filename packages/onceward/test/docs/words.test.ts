import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pages, pageText, root } from './pages.ts'

/** History keeps the words of its time; the glossary lists retired words. */
const prose = [...pages, 'bench/README.md'].filter(
  page => page !== 'CHANGELOG.md' && page !== 'docs/glossary.md',
)
const sources = globSync('packages/*/src/**/*.ts', { cwd: root })
const beside = globSync('{examples,scripts,bench}/**/*.ts', { cwd: root }).filter(
  file => !file.includes('node_modules'),
)
const suites = globSync('packages/*/test/**/*.ts', { cwd: root })
const textOf = (file: string) => readFileSync(join(root, file), 'utf8')

/** `| a, b | use instead |` below the heading. */
const retired = [
  ...pageText('docs/glossary.md')
    .split('## Retired words')[1]!
    .matchAll(/^\| ([^|]+) \| [^|]+ \|$/gm),
]
  .map(([, words]) => words!)
  .filter(words => words !== 'retired' && !words.startsWith('---'))
  .flatMap(words => words.split(', '))

/** Lines that quote another program's name. */
const quoted: Readonly<Record<string, RegExp>> = {
  // The unprivileged account of Unix.
  'packages/onceward/src/runtime/embedded/unprivileged-user.ts': /['"]nobody['"]/,
}

/** Identifiers fall apart into their words: `meetBroker`, `meet_broker` and `meet-broker` are "meet broker". */
const wordsOf = (text: string) =>
  ` ${text
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/[^a-z\n]+/g, ' ')
    .replaceAll('\n', ' \n ')} `

function withoutQuoted(file: string): string {
  const lines = textOf(file).split('\n')
  return lines.map(line => (quoted[file]?.test(line) ? '' : line)).join('\n')
}

function linesWith(file: string, text: string): string[] {
  return wordsOf(text)
    .split('\n')
    .flatMap((line, index) =>
      retired
        .filter(word => line.includes(` ${word.replaceAll('-', ' ')} `))
        .map(word => `${file}:${index + 1}: ${word}`),
    )
}

describe('the words of the glossary', () => {
  test('the glossary lists retired words', () => assert.ok(retired.length > 15))

  test('no retired word in code, SQL, commands, errors and comments', () => {
    assert.deepEqual(
      sources.flatMap(file => linesWith(file, withoutQuoted(file))),
      [],
    )
  })

  test('no retired word in examples, scripts and benchmarks', () => {
    assert.deepEqual(
      beside.flatMap(file => linesWith(file, textOf(file))),
      [],
    )
  })

  test('no retired word in the title of a test', () => {
    const title = /\b(?:test|it|describe)\(\s*(['"`])((?:[^\\]|\\.)*?)\1/g
    assert.deepEqual(
      suites.flatMap(file =>
        [...textOf(file).matchAll(title)].flatMap(([, , words]) => linesWith(file, words!)),
      ),
      [],
    )
  })

  for (const page of prose)
    test(`no retired word in ${page}`, () => assert.deepEqual(linesWith(page, pageText(page)), []))

  test('shipped code does not cite the source documents', () => {
    assert.deepEqual(
      sources.filter(file => textOf(file).includes('§')),
      [],
    )
  })
})

describe('lines wrap at 110 columns', () => {
  const tooLong = (text: string) => text.split('\n').filter(line => line.length > 110)

  test('comments', () => {
    const comment = /^\s*(\/\/|\/\*\*|\*)/
    assert.deepEqual(
      sources.flatMap(file =>
        tooLong(textOf(file))
          .filter(line => comment.test(line))
          .map(line => `${file}: ${line}`),
      ),
      [],
    )
  })

  /** Tables and code blocks cannot wrap; the pages of docs/reference are written from the code. */
  for (const page of prose.filter(page => !page.startsWith('docs/reference/')))
    test(page, () => {
      const text = pageText(page).replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '')
      const unbreakable = /^\s*\||^\s*(- )?(\[[^\]]*\]\([^)]*\)|`[^`]*`)\S*$|^#/
      assert.deepEqual(
        tooLong(text).filter(line => !unbreakable.test(line)),
        [],
      )
    })
})
