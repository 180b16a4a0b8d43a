import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { requirementsPage } from '../../../../scripts/reference/requirements-page.ts'
import { root } from '../docs/pages.ts'
import { requirements } from './all.ts'
import type { Proof, Requirement } from './requirement.ts'
import { documents } from './sections.ts'
import { proofPath, sourcePath } from './where.ts'

const rows = documents.flatMap(({ id }) =>
  Object.entries(requirements[id]).flatMap(([section, list]) =>
    list.map(requirement => ({ at: `${id} §${section}: ${requirement.asks}`, requirement })),
  ),
)

describe('docs/requirements.md', () => {
  test('matches the data (else: npm run reference)', () => {
    assert.equal(readFileSync(join(root, 'docs/requirements.md'), 'utf8'), requirementsPage())
  })

  for (const { id, sections } of documents) {
    test(`${id}: every section has a row, and no row is without a section`, () => {
      assert.deepEqual(Object.keys(requirements[id]).sort(), sections.map(([number]) => number).sort())
      for (const [number, list] of Object.entries(requirements[id]))
        assert.ok(list.length > 0, `${id} §${number} has no row`)
    })
  }

  test('the documents have all their sections', () => {
    const counts = documents.map(({ id, sections }) => [id, topLevel(sections.map(([number]) => number))])
    assert.deepEqual(Object.fromEntries(counts), { '000': 28, '001': 38, '003': 25, '004': 32 })
  })

  test('names source files that exist', () => {
    const missing = rows.flatMap(({ at, requirement }) =>
      requirement.files
        .filter(file => !existsSync(join(root, sourcePath(file))))
        .map(file => `${at}: ${file}`),
    )
    assert.deepEqual(missing, [])
  })

  test('names tests that exist, by their exact titles', () => {
    const missing = rows.filter(({ requirement: { proof } }) => proof !== null && !isThere(proof))
    assert.deepEqual(
      missing.map(({ at, requirement }) => `${at}: ${requirement.proof!.join(': ')}`),
      [],
    )
  })

  test('a requirement that is not met has one sentence on what is missing', () => {
    const wrong = rows.filter(({ requirement }) => !isHonest(requirement))
    assert.deepEqual(
      wrong.map(({ at }) => at),
      [],
    )
  })

  test('no requirement occurs twice in one section', () => {
    const keys = rows.map(({ at }) => at)
    assert.deepEqual(
      keys.filter((key, index) => keys.indexOf(key) !== index),
      [],
    )
  })
})

const topLevel = (numbers: readonly string[]) => numbers.filter(number => /^\d+$/.test(number)).length

function isHonest({ state, lacks, files, proof }: Requirement): boolean {
  if (state === 'prose') return lacks === null && proof === null
  if (state === 'met') return lacks === null && proof !== null && files.length > 0
  return lacks !== null && /^[^.]+(\.\S[^.]*)*\.$/.test(lacks)
}

const texts = new Map<string, string>()

/** The title as a whole string literal of the file; `<name>` for an interpolated value. */
function isThere([file, title]: Proof): boolean {
  const path = join(root, proofPath(file))
  if (!existsSync(path)) return false
  if (!texts.has(path)) texts.set(path, literals(readFileSync(path, 'utf8')))
  return ["'", '"', '`'].some(quote => texts.get(path)!.includes(`${quote}${title}${quote}`))
}

function literals(code: string): string {
  return code.replace(/\\(['"])/g, '$1').replace(/\$\{([^}]*)\}/g, '<$1>')
}
