import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { relayAlerts } from '../../src/telemetry/alerts/relay-rules.ts'
import { exportedNames, selectorsOf } from './selectors.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const source = new URL('../../src/', import.meta.url).href
const folder = mkdtempSync(join(tmpdir(), 'onceward-alerts-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const contract = (file: string, name: string, more = '') =>
  writeFileSync(
    join(folder, file),
    `import { defineConsumer } from '${source}index.ts'
import { postgresQueue } from '${source}postgres.ts'
export default defineConsumer({
  name: '${name}', owner: 'team "{{ x }}" \\u001b[31m', risk: 'money', source: postgresQueue('${name}'),
  identity: { id: { property: 'messageId' } }, handle: () => {}, ${more}
})`,
  )
contract('orders.ts', 'orders')
contract('views.ts', 'views', "objectives: { lagMax: '7s' },")
contract('again.ts', 'orders')
contract('wrong.ts', 'wrong', "objectives: { lagMaxx: '7s' },")

function onceward(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--conditions=@onceward/source', main, ...args],
    {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, ONCEWARD_DATABASE_URL: 'postgres://nowhere.invalid/x' },
    },
  )
  return { status, stdout, stderr }
}

describe('the commands', () => {
  test('alerts writes a rules file for all contracts, without a server', () => {
    const { status, stdout, stderr } = onceward('alerts', 'orders.ts', 'views.ts', '--label', 'env=test')
    assert.equal(status, 0, stderr)
    const { groups } = parse(stdout) as { groups: { name: string; rules: { expr: string }[] }[] }
    assert.deepEqual(
      groups.map(({ name }) => name),
      ['onceward.orders', 'onceward.views'],
    )
    assert.ok(groups[1]!.rules.some(({ expr }) => expr.includes('env="test"') && expr.includes('> 7 or')))
    const json = JSON.parse(
      onceward('alerts', 'orders.ts', 'views.ts', '--label', 'env=test', '--json').stdout,
    )
    assert.deepEqual(json, { ok: true, groups })
  })

  test('dashboard writes one for the consumers named', () => {
    const { status, stdout } = onceward('dashboard', 'orders.ts', 'views.ts')
    assert.equal(status, 0)
    const { templating } = JSON.parse(stdout) as { templating: { list: { name: string; query: string }[] } }
    assert.equal(templating.list.find(({ name }) => name === 'consumer')?.query, 'orders,views')
  })

  test('a producer with only an outbox gets its rules and its dashboard, without a contract', () => {
    const { status, stdout, stderr } = onceward(
      ...['alerts', '--relay', '--owner', 'checkout', '--broker', 'kafka', 'rabbitmq', '--outbox-age', '90s'],
      ...['--label', 'env=test'],
    )
    assert.equal(status, 0, stderr)
    const { groups } = parse(stdout) as {
      groups: { name: string; rules: { alert: string; expr: string; labels: Record<string, string> }[] }[]
    }
    assert.deepEqual(
      groups.map(({ name }) => name),
      ['onceward.relay'],
    )
    const { rules } = groups[0]!
    assert.deepEqual(
      rules.map(({ alert }) => alert),
      relayAlerts.map(({ name }) => name),
    )
    for (const { expr, labels } of rules) {
      assert.equal(labels.owner, 'checkout')
      for (const { labels: asked } of selectorsOf(expr))
        assert.deepEqual([...asked].sort(), ['broker', 'env'])
    }
    assert.match(rules[1]!.expr, /kafka\|rabbitmq.*> 90 or/)
    const drawn = JSON.parse(onceward('dashboard', '--relay').stdout)
    assert.equal(drawn.title, 'Onceward relay')
    const exprs = (drawn.panels as { targets?: { expr: string }[] }[]).flatMap(({ targets = [] }) =>
      targets.map(({ expr }) => expr),
    )
    assert.ok(exprs.length >= 6)
    for (const expr of exprs) {
      for (const { name } of selectorsOf(expr)) assert.ok(exportedNames.has(name), name)
      assert.ok(!expr.includes('consumer'), expr)
    }
  })

  test('rules of a relay can be combined with those of consumers', () => {
    const { stdout } = onceward('alerts', 'orders.ts', '--relay', '--owner', 'checkout')
    const { groups } = parse(stdout) as { groups: { name: string }[] }
    assert.deepEqual(
      groups.map(({ name }) => name),
      ['onceward.orders', 'onceward.relay'],
    )
  })

  test("runbook prints one, or all, for people and as JSON, without the escapes of an owner's name", () => {
    const one = onceward('runbook', 'orders.ts', 'OncewardDeadLetters')
    assert.equal(one.status, 0, one.stderr)
    assert.match(one.stdout, /^## dead-letters$/m)
    assert.match(one.stdout, /onceward parked groups --consumer orders/)
    assert.ok(!one.stdout.includes('\u001b'))
    const { runbooks } = JSON.parse(onceward('runbook', 'orders.ts', '--json').stdout)
    assert.ok(runbooks.length > 15)
  })

  const refused: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [['alerts'], /Name the modules of consumers, or pass --relay/],
    [['alerts', '--relay'], /--relay needs --owner/],
    [['alerts', '--relay', '--owner', 'a', '--outbox-age', 'soon'], /--outbox-age must be a duration/],
    [['dashboard', 'orders.ts', '--relay'], /either of consumers.*or of a relay/],
    [['alerts', 'nowhere.ts'], /no file nowhere\.ts/],
    [['alerts', 'wrong.ts'], /objectives\.lagMaxx.*did you mean 'lagMax'/s],
    [['alerts', 'orders.ts', 'again.ts'], /both declare consumer "orders"/],
    [['alerts', 'orders.ts', '--label', 'env'], /name=value/],
    [['alerts', 'orders.ts', '--label', 'e-nv=x'], /name of a Prometheus label/],
    [['alerts', 'orders.ts', '--runbook-url', 'javascript:alert(1)'], /https/],
    [['runbook', 'orders.ts', 'OncewardLagRaising'], /did you mean "OncewardLagRising"/],
  ]
  for (const [args, says] of refused) {
    test(`wrong use is refused: ${args.join(' ')}`, () => {
      const { status, stdout, stderr } = onceward(...args)
      assert.deepEqual([status, stdout], [2, ''])
      assert.match(stderr, says)
    })
  }
})
