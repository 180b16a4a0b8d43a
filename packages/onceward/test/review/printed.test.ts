import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineConsumer, projection } from 'onceward'
import { topic } from 'onceward/kafka'
import type { Consumer } from '../../src/index.ts'
import { contractPage } from '../../src/review/page/contract-page.ts'

/** As 004 §28 prints it. */
const printed = `Name: case-projection-consumer
Input topic: case-events
Group ID: case-projection-v1
Partition key assumption: key = caseId
Delivery target: at-least-once delivery, effectively-once projection update
Side effect: update case_projection table
Idempotency key: eventId and caseId+caseVersion
Commit point: after DB transaction commits
Duplicate behavior: processed_event prevents repeated side effect
Out-of-order behavior: version guard ignores older event
Poison behavior: send to case-events-dlq with original metadata
Replay behavior: safe from earliest if projection table is rebuilt
Owner: case platform team`

/** What the page must say for each line. */
const means: Readonly<Record<string, RegExp>> = {
  Name: /^case_projection_consumer$/,
  'Input topic': /case-events$/,
  'Group ID': /^case-projection-v1$/,
  'Partition key assumption': /caseId/,
  'Delivery target': /^at-least-once delivery; .*once/,
  'Side effect': /projection.*case_projection/,
  'Idempotency key': /eventId.*caseId \+ caseVersion/,
  'Commit point': /after the database transaction commits/,
  'Duplicate behavior': /marker|duplicate|skipped/,
  'Out-of-order behavior': /stale|older/,
  'Poison behavior': /copied to case-events-dlq/,
  'Replay behavior': /rebuild/,
  Owner: /^case platform team/,
}

type Message = { eventId: string; caseId: string; caseVersion: number; state: string }

describe('the contract of 004 §28', () => {
  const consumer = defineConsumer<Message>({
    name: 'case_projection_consumer',
    owner: 'case platform team',
    risk: 'projection',
    source: topic('case-events', { start: 'earliest', group: 'case-projection-v1' }),
    identity: {
      id: m => m.eventId,
      orderKey: m => m.caseId,
      aggregateId: m => m.caseId,
      aggregateVersion: m => m.caseVersion,
    },
    order: 'key',
    failure: { deadLetter: { to: 'case-events-dlq' } },
    replay: { modes: ['rebuild', 'replay'] },
    effect: {
      apply: projection({
        table: 'case_projection',
        key: { case_id: 'caseId' },
        version: { version: 'caseVersion' },
        columns: { state: 'state' },
        gap: 'accept latest',
      }),
    },
  })
  const { sections } = contractPage(consumer as unknown as Consumer)
  const lines = printed.split('\n').map(line => line.split(': ') as [string, string])

  test('has its lines in the order of the page', () => {
    const titles = lines.map(([title]) => title)
    assert.deepEqual(
      sections.map(({ title }) => title).filter(title => titles.includes(title)),
      titles,
    )
  })

  for (const [title] of lines) {
    test(`${title}, as printed`, () => {
      assert.match(sections.find(one => one.title === title)!.text, means[title]!)
    })
  }
})
