import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ContractFacts, Described } from '../../src/verify/child/orders.ts'
import { compareSnapshots, differingColumns } from '../../src/verify/compare-snapshots.ts'
import { diagnose } from '../../src/verify/diagnose.ts'
import { faultName, parseFault } from '../../src/verify/fault.ts'
import { type FedMessage, feedOf } from '../../src/verify/feed.ts'
import { generateBodies } from '../../src/verify/generate-samples.ts'
import { htmlText } from '../../src/verify/html.ts'
import { junitText } from '../../src/verify/junit.ts'
import { pairRows } from '../../src/verify/pair-rows.ts'
import { planFaults } from '../../src/verify/plan-faults.ts'
import { repeatCommand } from '../../src/verify/repeat-command.ts'
import type { VerifyReport } from '../../src/verify/report.ts'
import { failureText, reportText } from '../../src/verify/report-text.ts'
import { RunTurns } from '../../src/verify/run-turns.ts'
import type { Snapshot, SnapshotRow } from '../../src/verify/snapshot.ts'

const snapshot = (rows: readonly SnapshotRow[], intents: Snapshot['intents'] = []): Snapshot => ({
  tables: new Map([['booking', rows]]),
  intents,
  outcomes: [],
})

const described = (line: number): Described => ({
  line,
  problem: null,
  id: `m-${line}`,
  orderKey: null,
  bodyAlone: true,
  conflict: Buffer.from(`other ${line}`).toString('base64'),
  resent: null,
  unstable: [],
})

const message = (line: number, key: string | null = null): FedMessage => ({
  line,
  body: Buffer.from(`body ${line}`),
  headers: {},
  properties: {},
  key,
  described: described(line),
})

const contract: ContractFacts = {
  name: 'some',
  order: 'none',
  needsLog: false,
  settle: 'after effect',
  dedup: 'marker',
  stored: false,
  modes: ['replay'],
  hasBusinessKey: false,
  hasExternal: false,
  declaredEffect: false,
  jsonSchema: null,
  described: [],
}

describe('verify, without servers', () => {
  it('a fault is read from its own name', () => {
    for (const name of [
      'statement:3',
      'point:batch.committed:2',
      'order:2',
      'rollback:1',
      'twice',
      'freeze:4',
    ])
      assert.equal(faultName(parseFault(name)), name)
    for (const wrong of ['statement', 'point:nowhere:1', 'kill', 'order:x', 'statement:0'])
      assert.throws(() => parseFault(wrong), /is not a fault/, wrong)
  })

  it('rows are compared as sets, and masked columns are not compared', () => {
    const clean = snapshot([
      { id: 1, at: 'x' },
      { id: 2, at: 'x' },
    ])
    const run = snapshot([
      { id: 2, at: 'y' },
      { at: 'y', id: 1 },
    ])
    assert.deepEqual(compareSnapshots(clean, run, new Set(['booking.at'])), [])
    assert.equal(compareSnapshots(clean, run, new Set())[0]!.missing.length, 2)
  })

  it('a row that occurs twice is a difference', () => {
    const [difference] = compareSnapshots(snapshot([{ id: 1 }]), snapshot([{ id: 1 }, { id: 1 }]), new Set())
    assert.deepEqual(difference, { where: 'booking', missing: [], extra: [{ id: 1 }] })
  })

  it('a message that is stale instead of applied counts where an order is kept, and a reason is shown', () => {
    const outcome = (status: string, reason = '') => ({ id: 'm-1', status, code: '', reason })
    const ended = (...outcomes: Snapshot['outcomes']) => ({ ...snapshot([]), outcomes })
    const [clean, late] = [ended(outcome('applied')), ended(outcome('stale', 'older'))]
    assert.deepEqual(compareSnapshots(clean, late, new Set(), { ordered: false }), [])
    assert.equal(compareSnapshots(clean, late, new Set()).length, 1)
    const parked = ended(outcome('parked', 'duplicate key'))
    const [difference] = compareSnapshots(clean, parked, new Set(), { ordered: false })
    assert.deepEqual(difference!.extra, [{ id: 'm-1', status: 'parked', reason: 'duplicate key' }])
  })

  it('columns that differ between clean runs are found, keys of calls too', () => {
    const call = (key: string) => [{ kind: 'call', target: 'gateway', key, body: '{}' } as const]
    const one = snapshot([{ id: 1, at: 'a' }], call('k-1'))
    const other = snapshot([{ id: 1, at: 'b' }], call('k-2'))
    assert.deepEqual([...differingColumns(one, other)].sort(), ['booking.at', 'calls.key'])
  })

  it('every class has its first fault before any has its second, and a seed repeats the plan', () => {
    const seen = { points: { 'batch.claimed': 3 }, statements: ['select 1', 'insert 1', 'select 1'] }
    const messages = [message(1), message(2)]
    const plan = () => planFaults(contract, seen, messages, { seed: 7, only: null })
    const { faults, skipped } = plan()
    assert.deepEqual(plan().faults, faults)
    const classes = faults.map(fault => fault.class)
    const firsts = new Set(classes).size
    assert.equal(new Set(classes.slice(0, firsts)).size, firsts)
    assert.deepEqual(faults.filter(fault => fault.class === 'statement').map(faultName), [
      'statement:1',
      'statement:2',
      'statement:3',
    ])
    assert.deepEqual(faults.filter(fault => fault.class === 'point').map(faultName), [
      'point:batch.claimed:1',
      'point:batch.claimed:2',
    ])
    assert.match(skipped.resent!, /no business key/)
    assert.match(skipped.rebuild!, /does not allow rebuild/)
  })

  it('another order keeps the order of each key where the contract orders by key', () => {
    const messages = [message(1, 'a'), message(2, 'b'), message(3, 'a'), message(4, 'b')]
    const lines = (byKey: boolean) =>
      feedOf({ class: 'order', number: 1 }, messages, { seed: 1, byKey }).first.map(({ line }) => line)
    assert.deepEqual(lines(false), [4, 3, 2, 1])
    assert.deepEqual(lines(true), [2, 1, 4, 3])
  })

  it('conflicts come after the messages, and poison between them', () => {
    const messages = [message(1), message(2)]
    const conflict = feedOf({ class: 'conflict', number: 1 }, messages, { seed: 1, byKey: false })
    assert.deepEqual(
      conflict.after.map(({ body }) => body.toString()),
      ['other 1', 'other 2'],
    )
    const poison = feedOf({ class: 'poison', number: 1 }, messages, { seed: 1, byKey: false })
    assert.deepEqual(
      poison.first.map(({ body }) => body.toString()).filter((_, at) => at % 2 === 1),
      ['body 1', 'body 2'],
    )
  })

  it('messages are generated from a JSON Schema: own ids differ, entities repeat', () => {
    const schema = {
      type: 'object',
      required: ['messageId', 'accountId', 'amount', 'kind'],
      properties: {
        messageId: { type: 'string', minLength: 1 },
        accountId: { type: 'string' },
        amount: { type: 'integer', exclusiveMinimum: 0 },
        kind: { enum: ['in', 'out'] },
        note: { type: 'string' },
      },
    }
    const bodies = generateBodies(schema, 1) as { messageId: string; accountId: string; kind: string }[]
    assert.equal(new Set(bodies.map(body => body.messageId)).size, bodies.length)
    assert.equal(new Set(bodies.map(body => body.accountId)).size, 3)
    assert.deepEqual(new Set(bodies.map(body => body.kind)), new Set(['in', 'out']))
    assert.equal('note' in bodies[0]!, false)
  })

  it('a difference under the same fault has the cause that the facts name', () => {
    const facts = { contract, leaks: [], differences: [], trouble: null }
    const of = (kind: Parameters<typeof diagnose>[0]['class'], more = {}) =>
      diagnose({ ...facts, class: kind, failed: new Set([kind]), ...more }).what
    assert.match(of('order'), /order of arrival/)
    assert.match(of('batch'), /without a lock/)
    assert.match(of('rollback'), /in memory/)
    assert.match(of('late'), /second delivery/)
    assert.match(of('late', { contract: { ...contract, dedup: 'checkpoint' } }), /position/)
    assert.match(of('statement', { contract: { ...contract, settle: 'before effect' } }), /settles before/)
    const leak = { kind: 'network', what: 'api.example:443' } as const
    assert.match(of('statement', { leaks: [leak] }), /api\.example:443/)
    assert.match(of('point', { trouble: 'stuck' }), /did not recover: stuck/)
  })

  it('reports escape what comes from rows', () => {
    const report: VerifyReport = {
      ok: false,
      consumer: 'some',
      survived: 1,
      of: 2,
      classes: [{ class: 'twice', title: 'every message twice', survived: 0, of: 1, note: '' }],
      failures: [
        {
          what: 'wrong <b>',
          fix: 'fix & go',
          class: 'twice',
          fault: 'twice',
          lines: [1],
          seed: 1,
          differences: [{ where: 'booking', missing: [], extra: [{ text: '<script>"\u0000' }] }],
          repeat: 'onceward verify some.ts',
          alike: 2,
        },
      ],
      warnings: [{ what: 'a random <b>key</b>', fix: 'derive it' }],
      volatile: [{ column: 'booking.at', from: 'database' }],
      notes: ['a note'],
      messages: 1,
      seed: 1,
      seconds: 1,
    }
    assert.match(htmlText(report), /a random &lt;b&gt;key/)
    for (const text of [junitText(report), htmlText(report)]) {
      assert.doesNotMatch(text, /<script>|<b>/)
      assert.ok(!text.includes('\u0000'))
      assert.match(text, /wrong &lt;b&gt;/)
    }
    const text = reportText(report)
    assert.match(text, /WARNING a random <b>key<\/b>\n {2}fix {5}derive it/)
    assert.match(text, /0 of 1 {4}twice/)
    assert.match(text, /clean run +this run\n +\(no such row\)/)
    assert.match(text, /and with 2 other faults/)
    assert.match(text, /not compared, from the time or sequences of the database: booking\.at/)
  })

  it('no line of a report is longer than the terminal, but the command that is copied', () => {
    const long = 'a sentence about what is wrong with the handler '.repeat(4).trim()
    const row = { id: 'p-1', note: 'x'.repeat(90), amount: 1 }
    const text = failureText({
      ...{ what: long, fix: long, class: 'twice', fault: 'twice', lines: [1], seed: 1, alike: 0 },
      differences: [{ where: 'booking', missing: [row], extra: [{ ...row, amount: 2 }] }],
      repeat: `onceward verify ${'folder/'.repeat(20)}some.ts`,
    })
    const lines = text.split('\n')
    const longest = Math.max(...lines.filter(line => !line.startsWith('  repeat')).map(line => line.length))
    assert.ok(longest <= 80, `${longest}\n${text}`)
    // Too long to stand side by side, the rows begin with the column that differs.
    assert.match(text, /clean run {2}amount=1 id=p-1/)
    assert.match(text, /this run {3}amount=2 id=p-1/)
  })

  it('each row of the clean run stands beside the row that is most like it', () => {
    const pairs = pairRows({
      where: 'booking',
      missing: [
        { id: 1, account: 'a', total: 10 },
        { id: 2, account: 'b', total: 20 },
        { id: 9, account: 'z', total: 90 },
      ],
      extra: [
        { id: 2, account: 'b', total: 25 },
        { id: 1, account: 'a', total: 15 },
        { id: 7, account: 'q', total: 70 },
      ],
    })
    const shown = pairs.map(({ clean, run, differing }) => [clean?.id, run?.id, ...differing])
    assert.deepEqual(shown, [
      [1, 1, 'total'],
      [2, 2, 'total'],
      [9, undefined],
      [undefined, 7],
    ])
  })

  it('a failure is repeated by a command, or by the call where values cannot be written as one', () => {
    const options = { file: 'some.ts', samples: 'my samples.jsonl', schema: 'tables.sql', allow: ['a:1'] }
    assert.equal(
      repeatCommand(options, 7, { fault: 'statement:2', lines: [1, 3] }),
      "onceward verify some.ts --samples 'my samples.jsonl' --schema tables.sql --allow a:1 --seed 7 --fault statement:2 --lines 1,3",
    )
    assert.equal(repeatCommand({ file: 'some.ts' }, 1, null), 'onceward verify some.ts --seed 1 --only leak')
    assert.equal(
      repeatCommand({ file: 'some.ts', samples: [{}] }, 1, { fault: 'twice', lines: [2] }),
      "verifyConsumer({ ...options, seed: 1, fault: 'twice', lines: [2] })",
    )
  })

  it('a run that goes alone waits for the others, and the others wait for it', async () => {
    const turns = new RunTurns()
    const log: string[] = []
    const enter = async (name: string, how: 'shared' | 'alone') => {
      const leave = await turns.enter(how)
      log.push(name)
      return leave
    }
    const [a, b] = await Promise.all([enter('a', 'shared'), enter('b', 'shared')])
    const alone = enter('alone', 'alone')
    const late = enter('late', 'shared')
    a()
    await Promise.resolve()
    assert.deepEqual(log, ['a', 'b'])
    b()
    const leave = await alone
    assert.deepEqual(log, ['a', 'b', 'alone'])
    leave()
    await late
    assert.deepEqual(log, ['a', 'b', 'alone', 'late'])
  })
})
