import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { checklistsPage } from '../../../../scripts/reference/checklists-page.ts'
import { checksPage } from '../../../../scripts/reference/checks-page.ts'
import { contractOptions } from '../../src/contract/options/table.ts'
import { catalogue } from '../../src/review/catalogue.ts'
import { questions } from './checklist-questions.ts'

const page = (name: string) => readFileSync(new URL(`../../../../docs/${name}`, import.meta.url), 'utf8')
const ids = new Set(catalogue.map(rule => rule.id))

describe('the page of rules', () => {
  test('matches the rules (else: npm run reference)', () => {
    assert.equal(page('checks.md'), checksPage())
  })

  test('has an anchor for each rule, and no other', () => {
    const anchors = [...page('checks.md').matchAll(/^### (OW\d+)$/gm)].map(([, id]) => id!)
    assert.deepEqual(anchors.sort(), [...ids].sort())
  })
})

test('waivers in the documentation name rules that exist', () => {
  for (const name of ['checks.md', 'policy.md']) {
    const named = [...page(name).matchAll(/^ +- rule: (.+)$/gm)].map(([, rule]) => rule!)
    assert.ok(named.length > 0, name)
    assert.deepEqual(
      named.filter(rule => !ids.has(rule)),
      [],
      name,
    )
  }
})

describe('the page of checklists', () => {
  test('matches the list of questions', () => {
    assert.equal(page('checklists.md'), checklistsPage())
  })

  test('has a row for every question and every anti-pattern of the source documents', () => {
    const counts = Object.fromEntries(
      [...Map.groupBy(questions, question => question.section)].map(([section, rows]) => [
        section,
        rows.length,
      ]),
    )
    assert.deepEqual(counts, {
      '000 §25': 10,
      '000 §26': 12,
      '001 §35': 10,
      '001 §37': 20,
      '003 §23': 7,
      '003 §24': 15,
      '004 §29': 16,
      '004 §30': 6,
    })
  })

  test('answers each of them by a rule, a field or a test that exists', () => {
    const wrong = questions.flatMap(question => {
      const { asks, rules = [], fields = [], shownBy } = question
      const problems = [
        ...rules.filter(id => !ids.has(id)).map(id => `no rule ${id}`),
        ...fields.filter(field => !isField(field)).map(field => `no field ${field}`),
        ...(shownBy === undefined || stands(...shownBy) ? [] : [`${shownBy.join(': ')} is not there`]),
        ...(rules.length + fields.length === 0 && shownBy === undefined ? ['no answer'] : []),
      ]
      return problems.map(problem => `${question.section} ${asks}: ${problem}`)
    })
    assert.deepEqual(wrong, [])
  })
})

function isField(path: string): boolean {
  const [section, key] = path.split('.') as [string, string?]
  if (!contractOptions.names('').includes(section)) return false
  return key === undefined || contractOptions.names(section).includes(key)
}

function stands(file: string, words: string): boolean {
  const path = new URL(`../${file}`, import.meta.url)
  return existsSync(path) && readFileSync(path, 'utf8').includes(words)
}
