import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Command, Option } from 'commander'
import { previewText } from '../../src/cli/commands/parked/summary.ts'
import { progressText, watchRedrive } from '../../src/cli/commands/parked/watch.ts'
import { together } from '../../src/cli/commands/run/run-together.ts'
import { fromEnvironment, isJsonWanted } from '../../src/cli/from-environment.ts'
import { isContainer } from '../../src/cli/serve-metrics.ts'
import { table } from '../../src/cli/table.ts'
import { missingRight } from '../../src/runtime/missing-right.ts'
import { dashboard } from '../../src/telemetry/alerts/dashboard.ts'

const wide = (length: number) => 'x'.repeat(length)

describe('tables', () => {
  test('lose empty columns, then become blocks, and never a character', () => {
    const head = ['id', 'empty', 'reason']
    const narrow = table(head, [['1', '', wide(72)]], 80)
    assert.equal(narrow, `id  reason\n1   ${wide(72)}`)
    assert.match(table(head, [['1', '', wide(60)]], 200), /^id +empty +reason/)
    const blocks = table(
      ['id', 'cause', 'reason'],
      [
        ['1', wide(40), wide(50)],
        ['2', '', 'y'],
      ],
      80,
    )
    assert.ok(blocks.split('\n').every(line => line.length <= 80))
    assert.equal(blocks, `id      1\ncause   ${wide(40)}\nreason  ${wide(50)}\n\nid      2\nreason  y`)
  })
})

describe('a preview', () => {
  const row = (id: number) => ({
    id: String(id),
    consumer: 'c',
    state: 'parked',
    cause: 'gateway',
    code: id % 2 ? '503' : '504',
    messageId: `m${id}`,
    key: null,
    attempts: 1,
    seen: 1,
    firstAt: new Date(0),
    label: null,
    assignee: null,
    mode: 'live',
    campaign: null,
    reason: 'r',
    fixWaits: null,
  })
  test('summarises: total, causes, what may be called, ten rows, the next command', () => {
    const rows = Array.from({ length: 20_007 }, (_, id) => row(id + 1))
    const targets = [{ target: 'mail', type: 'email', calls: 12 }]
    const text = previewText(
      { rows, digest: 'd1', more: false, behind: [], targets } as never,
      'onceward parked redrive …',
    )
    assert.match(text, /^20007 messages\n/)
    assert.match(text, /they may call: mail \(email, 12 so far\)/)
    assert.match(text, /^10004 +gateway +503/m)
    assert.match(text, /and 19997 more/)
    assert.match(text, /next: onceward parked redrive/)
    assert.ok(text.split('\n').length < 30)
  })
})

describe('watching a redrive', () => {
  test('prints changed counts with rate and time left, until nothing is open', async () => {
    const counts = [
      { waits: 90, applied: 10 },
      { waits: 90, applied: 10 },
      { waits: 0, 'at work': 0, applied: 99, 'parked again': 1 },
    ]
    const lines: string[] = []
    let now = 0
    let at = 0
    await watchRedrive(
      async () => ({ state: 'moving', outcomes: counts[Math.min(at++, 2)]! }),
      line => lines.push(line),
      { nowMs: () => now, pause: async () => (now += 1_000) },
    )
    assert.deepEqual(lines, ['10 of 100 done (applied 10)', '100 of 100 done (applied 99, parked again 1)'])
    assert.equal(
      progressText({ applied: 7, waits: 20_000 }, 20_007, 20_000, 100),
      '7 of 20,007 done (applied 7), 100/s, about 3 min left',
    )
  })

  test('ends when it was stopped and nothing is at work', async () => {
    const lines: string[] = []
    await watchRedrive(
      async () => ({ state: 'stopped', outcomes: { waits: 5 } }),
      line => lines.push(line),
    )
    assert.deepEqual(lines, ['0 of 5 done'])
  })
})

describe('a missing right', () => {
  const denied = (what: string) =>
    Object.assign(new Error(`permission denied for ${what}`), { code: '42501' })
  test('is named with its grant', () => {
    const text = (what: string, command: string) => (missingRight(denied(what), command) as Error).message
    assert.match(
      text('function redrive_start', 'parked'),
      /may not use function redrive_start\..*grant onceward_operator to/s,
    )
    assert.match(text('function approve', 'parked'), /grant onceward_approver to/)
    assert.match(text('table inbox', 'run'), /grant onceward_run to/)
  })
  test('every other error stays', () => {
    const other = Object.assign(new Error('the requester cannot approve'), { code: '42501' })
    assert.equal(missingRight(other, 'parked'), other)
  })
})

describe('variables of options', () => {
  const parsed = (environment: Record<string, string>, ...args: string[]) => {
    const before = { ...process.env }
    Object.assign(process.env, environment)
    try {
      const command = new Command('run')
        .addOption(new Option('--part <part...>', '').choices(['consumer', 'worker']))
        .option('--drain <seconds>', '', '25')
        .option('--json', '')
      return fromEnvironment(command)
        .exitOverride()
        .parse(['node', 'x', ...args])
        .opts()
    } finally {
      process.env = before
    }
  }
  test('stand in for options that are not given', () => {
    assert.deepEqual(
      parsed({ ONCEWARD_DRAIN: '5', ONCEWARD_JSON: 'true', ONCEWARD_PART: 'consumer,worker' }),
      { drain: '5', json: true, part: ['consumer', 'worker'] },
    )
    assert.equal(parsed({ ONCEWARD_DRAIN: '5' }, '--drain', '7').drain, '7')
    assert.equal(parsed({ ONCEWARD_JSON: 'false' }).json, undefined)
    assert.throws(() => parsed({ ONCEWARD_JSON: 'perhaps' }), /ONCEWARD_JSON must be true or false/)
    assert.throws(() => parsed({ ONCEWARD_PART: 'nothing' }), /"nothing" is not a value of --part/)
  })
  test('make errors JSON for services only', () => {
    const before = process.env.ONCEWARD_JSON
    process.env.ONCEWARD_JSON = '1'
    assert.deepEqual([isJsonWanted(['', '', 'run']), isJsonWanted(['', '', 'status'])], [true, false])
    if (before === undefined) delete process.env.ONCEWARD_JSON
  })
})

test('metrics listen on every address in a container only', () => {
  assert.equal(
    isContainer({ KUBERNETES_SERVICE_HOST: '10.0.0.1' }, () => false),
    true,
  )
  assert.equal(
    isContainer({}, path => path === '/.dockerenv'),
    true,
  )
  assert.equal(
    isContainer({}, () => false),
    false,
  )
})

test('consumers of one process are ready when all are', () => {
  const health = (ready: boolean, age: number | null) => ({
    ready,
    reasons: ready ? [] : ['starting'],
    oldestUnfinishedSeconds: age,
    stalledSeconds: null,
  })
  const both = together(['a', 'b'], [health(true, 2), health(false, 7)])
  assert.deepEqual(both, {
    ready: false,
    reasons: ['b: starting'],
    oldestUnfinishedSeconds: 7,
    stalledSeconds: null,
  })
})

test('the dashboard begins with single numbers', () => {
  const { panels } = dashboard([{ file: 'c.ts', consumer: { name: 'c' } as never }])
  const stats = panels.filter(panel => panel.type === 'stat')
  assert.equal(stats.length, 4)
  assert.ok(stats.every(({ gridPos }) => gridPos.y === 0))
  assert.ok(panels.filter(panel => panel.type !== 'stat').every(({ gridPos }) => gridPos.y >= 4))
})
