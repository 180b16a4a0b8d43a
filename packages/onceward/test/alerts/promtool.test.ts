import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { stringify } from 'yaml'
import { type AlertRule, alertRules } from '../../src/telemetry/alerts/alert-rules.ts'
import { alerts } from '../../src/telemetry/alerts/alerts.ts'
import { dashboard } from '../../src/telemetry/alerts/dashboard.ts'
import { relayAlerts, relayRules } from '../../src/telemetry/alerts/relay-rules.ts'
import { rulesYaml } from '../../src/telemetry/alerts/rules-yaml.ts'
import { linesOf } from '../../src/telemetry/alerts/runbook.ts'
import { runbooks } from '../../src/telemetry/alerts/runbooks.ts'
import { type Case, cases, exported, type InputSeries } from './cases.ts'
import { everything, hostile, plain } from './declared.ts'
import { promtool, withPromtool } from './run-promtool.ts'

const options = { where: [['job', 'a']] as const, runbookUrl: 'https://example.org/runbooks' }
const groups = alertRules([everything], options)
const firing = (name: string) =>
  `count by (alertname, consumer, owner, risk) (ALERTS{alertname="${name}",alertstate="firing"})`

/** A test of promtool: the alert is firing at that minute, with its people, or is not. */
function ruleTest(name: string, { series, atMinute }: Case, fires: boolean) {
  const rule = groups[0]!.rules.find(one => 'alert' in one && one.alert === name) as AlertRule
  const { consumer, owner, risk } = rule.labels
  const labels = `{alertname="${name}",consumer="${consumer}",owner="${owner}",risk="${risk}"}`
  return {
    interval: '1m',
    name: `${name} ${fires ? 'fires' : 'is quiet'}`,
    input_series: series,
    promql_expr_test: [
      { expr: firing(name), eval_time: `${atMinute}m`, exp_samples: fires ? [{ labels, value: 1 }] : [] },
    ],
  }
}

describe('the rules, read by promtool', withPromtool, () => {
  test('are right for consumers of every kind, and for hostile ones', () => {
    const text = rulesYaml(alertRules([everything, plain, hostile], options))
    const { status, output } = promtool(['check', 'rules', 'rules.yml'], { 'rules.yml': text })
    assert.equal(status, 0, output)
  })

  test('every alert has series at which it fires and series at which it does not', () => {
    assert.deepEqual(Object.keys(cases).sort(), alerts.map(alert => alert.name).sort())
    for (const [name, { fires, quiet }] of Object.entries(cases))
      assert.ok(fires.length > 0 && quiet.length > 0, name)
  })

  test('fire where they should and nowhere else', () => {
    const files = Object.entries(cases).map(([name, { fires, quiet }]) => ({
      name,
      rules: groups.map(group => ({
        ...group,
        rules: group.rules.filter(rule => 'alert' in rule && rule.alert === name),
      })),
      tests: [
        ...fires.map(one => ruleTest(name, one, true)),
        ...quiet.map(one => ruleTest(name, one, false)),
      ],
    }))
    const written = files.flatMap(({ name, rules, tests }) => [
      [`${name}.rules.yml`, rulesYaml(rules)],
      [
        `${name}.test.yml`,
        stringify({ rule_files: [`${name}.rules.yml`], evaluation_interval: '1m', tests }),
      ],
    ])
    const { status, output } = promtool(
      ['test', 'rules', ...files.map(({ name }) => `${name}.test.yml`)],
      Object.fromEntries(written),
    )
    assert.equal(status, 0, output)
  })

  test('of a relay fire where they should and nowhere else', () => {
    const rules = relayRules({ owner: 'checkout', brokers: ['kafka'], outboxAgeMaxMs: 60_000 })
    const at = { broker: 'kafka', destination: 'kafka:a' }
    const healthy = exported('outboxOldest', '1x60', at)
    const stages: Record<
      (typeof relayAlerts)[number]['name'],
      { fires: InputSeries[]; quiet: InputSeries[] }
    > = {
      OncewardRelayDown: { fires: [], quiet: [healthy] },
      OncewardRelayOutboxGrowing: { fires: [exported('outboxOldest', '0+60x60', at)], quiet: [healthy] },
      OncewardRelayOutboxUnserved: {
        fires: [exported('outboxUnserved', '3x60', at)],
        quiet: [exported('outboxUnserved', '3x60', { ...at, broker: 'rabbitmq' })],
      },
      OncewardRelayPublishFailures: {
        fires: [exported('publishFailures', '0+1x60', { broker: 'kafka', code: 'refused' })],
        quiet: [exported('publishFailures', '0 1x60', { broker: 'kafka', code: 'refused' })],
      },
    }
    const expected = (name: string, value: number | null) => ({
      expr: `count by (alertname, owner, severity) (ALERTS{alertname="${name}",alertstate="firing"})`,
      eval_time: '40m',
      exp_samples:
        value === null
          ? []
          : [{ labels: `{alertname="${name}",owner="checkout",severity="${severityOf(name)}"}`, value }],
    })
    const severityOf = (name: string) => relayAlerts.find(one => one.name === name)!.severity
    const tests = Object.entries(stages).flatMap(([name, { fires, quiet }]) =>
      (
        [
          [fires, 1],
          [quiet, null],
        ] as const
      ).map(([input_series, value]) => ({
        interval: '1m',
        input_series,
        promql_expr_test: [expected(name, value)],
      })),
    )
    const { status, output } = promtool(['test', 'rules', 'test.yml'], {
      'rules.yml': rulesYaml([rules]),
      'test.yml': stringify({ rule_files: ['rules.yml'], evaluation_interval: '1m', tests }),
    })
    assert.equal(status, 0, output)
  })

  test('objectives longer than the histogram, and a declared silence, fire too', () => {
    const own = alertRules([plain])
    const labels = (name: string) => `{alertname="${name}",consumer="views",owner="web",risk="telemetry"}`
    const expect = (name: string, fires: boolean) => ({
      expr: firing(name),
      eval_time: '40m',
      exp_samples: fires ? [{ labels: labels(name), value: 1 }] : [],
    })
    const delivered = 'messaging_client_consumed_messages_total{consumer="views",mode="live"}'
    const up = { series: 'onceward_consumer_up{consumer="views"}', values: '1x60' }
    const apply = (part: string) => `onceward_consumer_handler_duration_seconds_${part}{consumer="views"}`
    const tests = [
      {
        interval: '1m',
        input_series: [
          up,
          { series: apply('sum'), values: '0+1500x60' },
          { series: apply('count'), values: '0+10x60' },
          { series: delivered, values: '0+5x10 50x60' },
        ],
        promql_expr_test: [expect('OncewardApplySlow', true), expect('OncewardSourceIdle', true)],
      },
      {
        interval: '1m',
        input_series: [
          up,
          { series: apply('sum'), values: '0+15x60' },
          { series: apply('count'), values: '0+10x60' },
          { series: delivered, values: '0+5x60' },
        ],
        promql_expr_test: [expect('OncewardApplySlow', false), expect('OncewardSourceIdle', false)],
      },
    ]
    const { status, output } = promtool(['test', 'rules', 'test.yml'], {
      'rules.yml': rulesYaml(own),
      'test.yml': stringify({ rule_files: ['rules.yml'], evaluation_interval: '1m', tests }),
    })
    assert.equal(status, 0, output)
  })

  test('hostile names and owners are text, in labels and in annotations', () => {
    const rules = alertRules([hostile], { runbookUrl: 'https://example.org/{{ .Labels }}' })
    const name = 'x"} or vector(1) #\\ {{ $value }}'
    const owner = `pay "x" {{ .Labels }} {}} : [&a *a]  [31m # ' \u{1f600}\ufffd`
    const tests = [
      {
        interval: '1m',
        input_series: [],
        alert_rule_test: [
          {
            eval_time: '10m',
            alertname: 'OncewardDown',
            exp_alerts: [
              {
                exp_labels: { consumer: name, owner, risk: 'money', severity: 'critical' },
                exp_annotations: {
                  summary: `${name}: A process has halted or cannot reach its source, or none runs`,
                  description: 'Fires at: halted, without its source, or not scraped, for 5m.',
                  runbook: `onceward runbook 'we'\\''re {{ .Labels }} "here".ts' OncewardDown`,
                  runbook_url: 'https://example.org/{{ .Labels }}#down',
                },
              },
            ],
          },
        ],
      },
    ]
    const { status, output } = promtool(['test', 'rules', 'test.yml'], {
      'rules.yml': rulesYaml(rules),
      'test.yml': stringify({ rule_files: ['rules.yml'], evaluation_interval: '1m', tests }),
    })
    assert.equal(status, 0, output)
  })

  test('every query of the dashboard and of the runbooks is PromQL', () => {
    const drawn = dashboard([everything, plain]).panels.flatMap(panel =>
      'targets' in panel ? panel.targets.map(target => target.expr) : [],
    )
    const asked = runbooks.flatMap(runbook => linesOf(runbook, everything).queries)
    assert.ok(drawn.length > 20 && asked.length > 20)
    const rules = [...drawn, ...asked].map((expr, index) => ({
      record: `query_${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
    }))
    const text = stringify({ groups: [{ name: 'queries', rules }] })
    const { status, output } = promtool(['check', 'rules', 'queries.yml'], { 'queries.yml': text })
    assert.equal(status, 0, output)
  })
})
