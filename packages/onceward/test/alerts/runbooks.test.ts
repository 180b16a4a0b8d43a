import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { Command } from 'commander'
import { createProgram } from '../../src/cli/program.ts'
import { durationMs } from '../../src/contract/duration.ts'
import { contractOptions } from '../../src/contract/options/table.ts'
import { risks } from '../../src/contract/words.ts'
import { type ConsumerContract, defineConsumer, type Risk } from '../../src/index.ts'
import { alertsOf } from '../../src/telemetry/alerts/alert-rules.ts'
import { alerts } from '../../src/telemetry/alerts/alerts.ts'
import { linesOf, renderRunbook, runbooksFor } from '../../src/telemetry/alerts/runbook.ts'
import { runbooks } from '../../src/telemetry/alerts/runbooks.ts'
import { everything, hostile, plain } from './declared.ts'

/** Everything the issue lists; the rest comes from alerts. */
const required = [
  'duplicate-spike',
  'lag-rising',
  'dead-letters',
  'poison',
  'conflict',
  'stuck-leases',
  'deserialization-failures',
  'commit-failures',
  'outbox-growing',
  'unknown-effects',
  'parking-near-cap',
  'horizon-too-short',
  'restore-from-backup',
  'wrong-environment',
]

/** What 000 §23 says to look at when duplicates spike, and what shows that a step does. */
const duplicateSpike: readonly (readonly [string, RegExp])[] = [
  ['deployment and restart activity', /deployed, restarted/],
  ['consumer crash loops', /die again and again/],
  ['broker connection churn', /come and go/],
  ['ack latency and acknowledgement timeout', /acknowledgement timeout/],
  ['database latency', /database slow/],
  ['retry queues and parking lot replay jobs', /Retry queues, redrives of parked messages/],
  ['producer confirm timeout and republish', /publish again when a confirm is late/],
  ['queue leader failovers', /changed its leader/],
  ['duplicate conflict count is zero', /must be zero/],
  ['ledger shows no duplicate side effects', /no side effect happened twice/],
]

/** Words of a line as a shell splits them. */
function wordsOf(line: string): string[] {
  const words = line.match(/(?:'[^']*'|\\'|[^\s'])+/g) ?? []
  return words.map(word =>
    word.replaceAll(/'([^']*)'|\\'/g, (whole, inside) => (whole === "\\'" ? "'" : inside)),
  )
}

/** Parses as the program would and does nothing. */
async function parses(line: string): Promise<string> {
  const program = await createProgram()
  let reached = ''
  const disarm = (command: Command, path: string) => {
    for (const one of command.commands) disarm(one, `${path} ${one.name()}`)
    if ((command as unknown as { _actionHandler: unknown })._actionHandler !== null)
      command.action(() => {
        reached = path
      })
  }
  disarm(program, 'onceward')
  const [name, ...args] = wordsOf(line)
  assert.equal(name, 'onceward', line)
  await program.parseAsync(args, { from: 'user' })
  return reached
}

describe('runbooks', () => {
  test('there is one for every alert, and an alert or a stated reason for every one', () => {
    const names = runbooks.map(runbook => runbook.name)
    assert.deepEqual([...new Set(names)], names)
    assert.deepEqual(
      alerts.filter(alert => !names.includes(alert.runbook)).map(alert => alert.name),
      [],
    )
    for (const { name, noAlert } of runbooks) {
      const led = alerts.some(alert => alert.runbook === name)
      assert.equal(noAlert === undefined, led, name)
    }
    assert.deepEqual(
      required.filter(name => !names.includes(name)),
      [],
    )
  })

  test('of a duplicate spike looks at everything 000 §23 names, in its order', () => {
    const { steps, means } = runbooks.find(runbook => runbook.name === 'duplicate-spike')!
    assert.deepEqual(
      duplicateSpike.map(([, words], index) => words.test(steps[index]?.text ?? '')),
      duplicateSpike.map(() => true),
    )
    assert.equal(steps.length, duplicateSpike.length)
    assert.match(means, /a duplicate spike is not always an incident, a duplicate side-effect spike is/)
  })

  for (const declared of [everything, plain, hostile]) {
    test(`every command for ${JSON.stringify(declared.consumer.name)} is one the program knows`, async () => {
      const lines = runbooks.flatMap(runbook => linesOf(runbook, declared).commands)
      assert.ok(lines.length > 40)
      for (const line of lines) {
        const reached = await parses(line).catch((error: Error) => assert.fail(`${line}: ${error.message}`))
        assert.notEqual(reached, '', line)
      }
    })
  }

  test('a command that does not exist would be noticed', async () => {
    await assert.rejects(parses('onceward parked lost'), { code: 'usage' })
    await assert.rejects(parses('onceward parked list --consumers x'), { code: 'usage' })
    await assert.rejects(parses('onceward ledger reconcile 1 --as maybe --consumer x --because y'), {
      code: 'usage',
    })
    await assert.rejects(parses('onceward ledger retry 1 --consumer x'), { code: 'usage' })
  })

  test('are found by alert and by name, and the nearest is suggested', () => {
    assert.equal(runbooksFor(plain.consumer, 'OncewardLagRising')[0]!.name, 'lag-rising')
    assert.equal(runbooksFor(plain.consumer, 'poison')[0]!.name, 'poison')
    assert.throws(() => runbooksFor(plain.consumer, 'poisson'), /did you mean "poison"/)
    const own = runbooksFor(plain.consumer).map(({ name }) => name)
    assert.ok(!own.includes('outbox-growing') && own.includes('restore-from-backup'))
    assert.equal(runbooksFor(everything.consumer).length, runbooks.length)
    assert.equal(alertsOf(everything.consumer).length, alerts.length)
  })

  test('quote hostile names', () => {
    const text = runbooks.map(runbook => renderRunbook(runbook, hostile)).join('\n')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left
    assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f]/)
    assert.match(text, /onceward replay create 'we'\\''re \{\{ \.Labels \}\} "here"\.ts' --mode/)
  })
})

describe('the pages', () => {
  const readPage = (name: string) =>
    readFileSync(new URL(`../../../../docs/${name}`, import.meta.url), 'utf8')

  test('docs/runbooks.md has a section for each, docs/alerts.md a row for each alert', () => {
    const headings = [...readPage('runbooks.md').matchAll(/^## (.+)$/gm)].map(([, name]) => name)
    assert.deepEqual(
      headings,
      runbooks.map(({ name }) => name),
    )
    const rows = [...readPage('alerts.md').matchAll(/^\| `(Onceward\w+)` \|/gm)].map(([, name]) => name)
    assert.deepEqual(
      rows,
      alerts.map(({ name }) => name),
    )
  })

  test('docs/alerts.md says every objective and its default', () => {
    const page = readPage('alerts.md')
    for (const name of contractOptions.names('objectives')) {
      const row = new RegExp(`^\\| \`${name}\` \\|.*\\| (.*) \\|$`, 'm').exec(page)
      assert.ok(row !== null, name)
      const shown = risks.map(risk => `${risk}: ${valuesIn(clauseOf(risk, row[1]!))}`)
      // A default that follows another option has no number.
      if (valuesIn(row[1]!).length === 0) assert.match(row[1]!, /`|compared/, name)
      else
        assert.deepEqual(
          shown,
          risks.map(risk => `${risk}: ${defaultOf(name, risk)}`),
          name,
        )
    }
  })
})

/** The part of a default about a risk: `0 for money; else 10`. */
function clauseOf(risk: string, text: string): string {
  const clauses = text.split(';')
  return clauses.find(one => one.includes(risk)) ?? clauses.find(one => /\belse\b/.test(one)) ?? text
}

/** Numbers, and durations in milliseconds. */
function valuesIn(text: string): number[] {
  const values = text.replaceAll(',', '').match(/(?<![\w`.])\d[\d.]*[smhd]?(?!\w)/g) ?? []
  return values.map(value => (/[smhd]$/.test(value) ? durationMs(value)! : Number(value)))
}

function defaultOf(name: string, risk: Risk): unknown {
  const { objectives } = defineConsumer({ ...plainContract, risk })
  const found = objectives as unknown as Record<string, unknown>
  return found[name] ?? found[`${name}Ms`]
}

const plainContract: ConsumerContract = {
  name: 'plain',
  owner: 'team',
  risk: 'money',
  source: { kind: 'memory' },
  identity: { id: { header: 'id' } },
  handle: () => {},
}
