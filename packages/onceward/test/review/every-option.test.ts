import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { contribution, defineConsumer } from 'onceward'
import { topic } from 'onceward/kafka'
import { queue } from 'onceward/rabbitmq'
import { listedOptions } from '../../src/contract/options/table.ts'
import type { Consumer, ConsumerContract } from '../../src/index.ts'
import { contractPage } from '../../src/review/page/contract-page.ts'
import { renderPage } from '../../src/review/page/render-page.ts'
import { type Shown, shownOptions } from './shown-options.ts'

type Message = { eventId: string; caseId: string; version: number }

const rendered = (changes: object): string => {
  const contract = {
    name: 'case_view',
    owner: 'case team',
    risk: 'projection',
    source: topic('case-events', { start: 'earliest', group: 'case-view-v1' }),
    identity: { id: (m: Message) => m.eventId, orderKey: (m: Message) => m.caseId },
    handle() {},
    ...changes,
  }
  return renderPage(
    contractPage(defineConsumer(contract as ConsumerContract<Message>) as unknown as Consumer),
  )
}
const shown: ReadonlyMap<string, Shown> = new Map(Object.entries(shownOptions({ contribution, queue })))
/** Sections and records only hold these; a key of the policy file alone sets one of them. */
const values = listedOptions.filter(option => option.kind.holds === 'value' && !('fileOnly' in option))

describe('every option of a contract on its page', () => {
  for (const { path } of values) {
    const said = shown.get(path)
    test(`${path} is ${typeof said === 'string' ? 'left out for a reason' : 'shown'}`, () => {
      assert.ok(said !== undefined, 'name in shown-options.ts what it changes on the page, or why nothing')
      if (typeof said !== 'string') assert.notEqual(rendered(said[1]), rendered(said[0]))
    })
  }

  test('nothing else is listed', () => {
    const known = new Set<string>(values.map(({ path }) => path))
    assert.deepEqual(
      [...shown.keys()].filter(path => !known.has(path)),
      [],
    )
  })
})
