import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contractOptions } from '../../src/contract/options/table.ts'
import { pageText } from './pages.ts'

/** The cells of each row of the table under a heading; '' for the first table of the page. */
function rowsUnder(page: string, heading: string): readonly (readonly string[])[] {
  const text = pageText(page)
  const from = heading === '' ? text : text.slice(text.indexOf(`\n## ${heading}\n`) + 4)
  assert.ok(heading === '' || text.includes(`\n## ${heading}\n`), `${page} has no section ${heading}`)
  const section = heading === '' ? from : from.split('\n## ')[0]!
  return [...section.matchAll(/^\| (?!---)(.*) \|$/gm)].slice(1).map(([, cells]) => cells!.split(' | '))
}

test('docs/guarantees.md says what each weaker choice gives up, and at most once that it loses', () => {
  const rows = rowsUnder('docs/guarantees.md', 'Guarantees that options give up')
  for (const option of ['dedup', 'identity.id', 'order', 'failure.mode', 'retention']) {
    assert.ok(contractOptions.names('').includes(option.split('.')[0]!), option)
    const row = rows.find(([name]) => name!.includes(`\`${option}`))
    assert.ok(row !== undefined && row[1]!.length > 5, option)
  }
  const modes = rows.find(([name]) => name!.includes('failure.mode'))!
  for (const mode of ["'retry queue'", "'retry topic'"]) assert.ok(modes[0]!.includes(mode), mode)
  assert.match(pageText('docs/guarantees.md'), /settle\.when: 'before effect'.*are lost/)
})

test('docs/choosing-an-effect.md leads to every kind of effect, by a question and with its reason', () => {
  const rows = rowsUnder('docs/choosing-an-effect.md', '')
  const kinds = ['effects.external', 'effects.publish', 'projection', 'transition', 'contribution', 'audit']
  for (const kind of [...kinds, 'commandFrom', 'defineTransform', 'a handler']) {
    const row = rows.find(([, , choose]) => choose!.replaceAll('`', '').startsWith(`[${kind}`))
    assert.ok(row !== undefined, kind)
    assert.ok(row[3]!.length > 20, `${kind} has no reason`)
  }
})

test('docs/choosing-an-effect.md says which identity, completion and order to choose', () => {
  const choices = (heading: string) =>
    rowsUnder('docs/choosing-an-effect.md', heading).map(cells => cells[1]!)
  const has = (texts: readonly string[], wanted: readonly string[]) =>
    assert.deepEqual(
      wanted.filter(one => !texts.some(text => text.includes(one))),
      [],
    )
  has(choices('Which messages are the same?'), ['`id`', 'businessKey', 'businessDigest', "'position'"])
  has(choices('When is the work done?'), ['the default', "'stored'", "'before effect'"])
  has(choices('In which order?'), ["'none'", "'key'", "'partition'"])
})

test('docs/inbox.md says for what work each mode is', () => {
  const rows = rowsUnder('docs/inbox.md', '')
  assert.deepEqual(
    rows.slice(0, 2).map(([mode, , what]) => [mode!.match(/`(\w+)`/)![1], what!.length > 10]),
    [
      ['transactional', true],
      ['stored', true],
    ],
  )
})

test('docs/logs.md says what each time of the commit costs', () => {
  const rows = rowsUnder('docs/logs.md', 'When is the position committed?')
  assert.deepEqual(
    rows.map(([when]) => when!.split(' (')[0]),
    ['`after effect`', '`with effect`', '`before effect`'],
  )
  assert.match(pageText('docs/logs.md'), /^`with effect` costs one statement for each batch/m)
})
