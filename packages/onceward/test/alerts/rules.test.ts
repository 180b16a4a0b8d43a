import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { alertOrigins } from '../../../../scripts/reference/alert-origins.ts'
import { type AlertRule, alertRules, type RecordedRule } from '../../src/telemetry/alerts/alert-rules.ts'
import { alerts } from '../../src/telemetry/alerts/alerts.ts'
import { dashboard } from '../../src/telemetry/alerts/dashboard.ts'
import { objectiveSeries } from '../../src/telemetry/alerts/objective-rules.ts'
import { panels } from '../../src/telemetry/alerts/panels.ts'
import { rulesYaml } from '../../src/telemetry/alerts/rules-yaml.ts'
import { linesOf } from '../../src/telemetry/alerts/runbook.ts'
import { runbooks } from '../../src/telemetry/alerts/runbooks.ts'
import { catalogue, type MetricKey, prometheusName } from '../../src/telemetry/catalogue.ts'
import { everything, hostile, plain } from './declared.ts'
import { exportedNames, groupingsOf, selectorsOf } from './selectors.ts'

/** As 001 §30 and 003 §19 list them. */
const asked = [
  '001 §30: consumer lag rising',
  '001 §30: DLQ rate > 0 for critical topic',
  '001 §30: poison message detected',
  '001 §30: duplicate rate spike',
  '001 §30: deserialization failure',
  '001 §30: processing p99 high',
  '001 §30: retry exhausted',
  '001 §30: outbox pending growing',
  '001 §30: offset commit failures',
  '001 §30: partition idle unexpectedly',
  '003 §19: Kafka lag increasing, inbox pending low',
  '003 §19: Kafka lag low, inbox pending high',
  '003 §19: duplicate rate spike',
  '003 §19: oldest pending age high',
  '003 §19: quarantined count increasing',
  '003 §19: claim expired count increasing',
]

const ruleOf = (rules: readonly unknown[], name: string) =>
  (rules as AlertRule[]).find(rule => rule.alert === name)
const targets = dashboard([everything, plain]).panels.flatMap(panel =>
  'targets' in panel ? panel.targets : [],
)

function assertKnown(expression: string, where: string): void {
  const found = selectorsOf(expression)
  assert.ok(found.length > 0, `${where}: ${expression}`)
  for (const { name, labels } of found) {
    if (name === objectiveSeries) continue
    const known = exportedNames.get(name)
    assert.ok(known, `${where} asks for ${name}, which nobody exports`)
    for (const label of labels) assert.ok(known.includes(label), `${where}: ${name} has no label ${label}`)
  }
  const possible = new Set([...found.flatMap(({ name }) => exportedNames.get(name) ?? []), 'consumer'])
  for (const label of groupingsOf(expression)) assert.ok(possible.has(label), `${where} groups by ${label}`)
}

describe('alerts', () => {
  test('are at least those the source documents ask for', () => {
    const made = Object.values(alertOrigins).flat()
    assert.deepEqual(
      asked.filter(one => !made.some(seed => seed.startsWith(one))),
      [],
    )
  })

  test('ask only for metrics and labels of the catalogue, and for those they say', () => {
    const { rules } = alertRules([everything])[0]!
    for (const alert of alerts) {
      const rule = ruleOf(rules, alert.name)
      assert.ok(rule, alert.name)
      assertKnown(rule.expr, alert.name)
      const names = new Set(selectorsOf(rule.expr).map(({ name }) => name))
      const said = alert.metrics.flatMap(key => namesOf(key))
      for (const name of names)
        assert.ok(said.includes(name), `${alert.name} does not say that it asks for ${name}`)
    }
  })

  test('every metric an alert looks at is on the dashboard, and every query there can be answered', () => {
    const drawn = new Set(targets.flatMap(({ expr }) => selectorsOf(expr).map(({ name }) => name)))
    for (const { metrics, name } of alerts)
      for (const key of metrics)
        assert.ok(
          namesOf(key).some(one => drawn.has(one)),
          `${name}: ${key}`,
        )
    for (const { expr, legendFormat } of targets) assertKnown(expr, legendFormat)
    const objectives = alertRules([everything])[0]!.rules.filter(rule => 'record' in rule) as RecordedRule[]
    for (const { objective } of panels) {
      if (objective !== undefined)
        assert.ok(
          objectives.some(({ labels }) => labels.objective === objective),
          objective,
        )
    }
  })

  test('panels have ids of their own and lie side by side', () => {
    const { panels: laid } = dashboard([everything])
    assert.deepEqual([...new Set(laid.map(({ id }) => id))].length, laid.length)
    const cells = laid.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    )
    assert.equal(new Set(cells).size, cells.length)
    assert.ok(laid.every(({ gridPos: { x, w } }) => x + w <= 24))
  })

  test('queries of runbooks can be answered too', () => {
    for (const runbook of runbooks)
      for (const query of linesOf(runbook, everything).queries) assertKnown(query, runbook.name)
  })

  test('apply to the consumers they can happen to', () => {
    const names = (declared: typeof plain) =>
      alertRules([declared])[0]!.rules.flatMap(rule => ('alert' in rule ? [rule.alert] : []))
    assert.deepEqual(names(everything).sort(), alerts.map(alert => alert.name).sort())
    const own = names(plain)
    for (const missing of [
      'OncewardOutboxGrowing',
      'OncewardUnknownEffects',
      'OncewardLeasesExpired',
      'OncewardLoss',
      'OncewardHorizonTooShort',
    ])
      assert.ok(!own.includes(missing), missing)
    assert.ok(own.includes('OncewardLagRising') && own.includes('OncewardDeadLetters'))
  })

  test('carry thresholds, people and severity of their contract', () => {
    const [first, second] = alertRules([everything, plain], { runbookUrl: 'https://example.org/r' })
    const own = (rules: readonly unknown[], name: string) => ruleOf(rules, name)!
    assert.match(own(first!.rules, 'OncewardOldestPending').expr, /> 60 or .*> 60$/)
    assert.match(own(second!.rules, 'OncewardOldestPending').expr, /> 900 or .*> 900$/)
    assert.match(own(second!.rules, 'OncewardSourceIdle').expr, /\[600s\]\)\) > 0$/)
    const { labels, annotations } = own(first!.rules, 'OncewardUnreadable')
    assert.deepEqual(labels, {
      consumer: 'payment_capture',
      owner: 'payments',
      producer: 'checkout',
      risk: 'money',
      severity: 'critical',
    })
    assert.equal(annotations.runbook, 'onceward runbook payment-capture.ts OncewardUnreadable')
    assert.equal(annotations.runbook_url, 'https://example.org/r#deserialization-failures')
    assert.equal(own(first!.rules, 'OncewardDeadLetters').labels.owner, 'payments-desk')
    assert.equal(own(second!.rules, 'OncewardUnreadable').labels.producer, 'web')
    assert.equal(own(second!.rules, 'OncewardDeadLetters').labels.severity, 'warning')
  })

  test('corruption pages the owner for every risk', () => {
    for (const declared of [everything, plain]) {
      const { labels } = ruleOf(alertRules([declared])[0]!.rules, 'OncewardCorruption')!
      assert.deepEqual(
        [labels.severity, labels.owner],
        ['critical', declared.consumer.owner],
        declared.consumer.risk,
      )
    }
  })

  test('only contract violations name the producer', () => {
    const named = alertRules([everything])[0]!.rules.flatMap(rule =>
      'alert' in rule && rule.labels.producer !== undefined ? [rule.alert] : [],
    )
    assert.deepEqual(named.sort(), ['OncewardConflict', 'OncewardUnreadable'])
  })

  test('look only at series with the labels asked for, and carry them', () => {
    const { rules } = alertRules([everything], { where: [['env', 'pro"d']] })[0]!
    for (const rule of rules) {
      assert.equal(rule.labels.env, 'pro"d')
      if ('alert' in rule)
        for (const { labels } of selectorsOf(rule.expr)) assert.ok(labels.includes('env'), rule.alert)
    }
    assert.throws(() => alertRules([plain], { where: [['a-b', 'x']] }), { code: 'usage' })
    assert.throws(() => alertRules([plain], { where: [['consumer', 'x']] }), { code: 'usage' })
  })

  test('for two contracts with one name are refused', () => {
    assert.throws(
      () => alertRules([plain, { ...plain, file: 'other.ts' }]),
      /views\.ts and other\.ts both declare/,
    )
  })

  test('are written as YAML that reads back as it was, hostile text included', () => {
    const groups = alertRules([everything, plain, hostile])
    assert.deepEqual(parse(rulesYaml(groups)), { groups })
  })

  test('a hostile name cannot leave its quotes', () => {
    for (const rule of alertRules([hostile])[0]!.rules)
      if ('alert' in rule) assert.doesNotMatch(rule.expr.replaceAll(/"(?:[^"\\]|\\.)*"/g, ''), /vector\(1\)/)
  })
})

function namesOf(key: MetricKey): readonly string[] {
  const name = prometheusName(catalogue[key])
  return exportedNames.has(name) ? [name] : ['_bucket', '_sum', '_count'].map(part => `${name}${part}`)
}
