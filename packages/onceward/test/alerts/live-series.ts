import { stringify } from 'yaml'
import { alertRules, type Declared } from '../../src/telemetry/alerts/alert-rules.ts'
import { rulesYaml } from '../../src/telemetry/alerts/rules-yaml.ts'
import { promtool } from './run-promtool.ts'

const quietMinutes = 20
const troubledMinutes = 60

/**
 * Whether these alerts fire on the series that a live process exported: its first page for some minutes, then
 * its last one. A counter, and a gauge in `growing`, goes on growing by the same amount each minute, as if the
 * trouble went on.
 */
export function fireOn(
  first: string,
  last: string,
  declared: readonly Declared[],
  names: readonly string[],
  growing: readonly string[] = [],
): { readonly status: number | null; readonly output: string } {
  const firing = names.map(name => ({
    expr: `clamp_max(count(ALERTS{alertname="${name}",alertstate="firing"}), 1)`,
    eval_time: `${quietMinutes + troubledMinutes}m`,
    exp_samples: [{ labels: '{}', value: 1 }],
  }))
  const tests = [{ interval: '1m', input_series: seriesOf(first, last, growing), promql_expr_test: firing }]
  return promtool(['test', 'rules', 'test.yml'], {
    'rules.yml': rulesYaml(alertRules(declared)),
    'test.yml': stringify({ rule_files: ['rules.yml'], evaluation_interval: '1m', tests }),
  })
}

function seriesOf(first: string, last: string, growing: readonly string[]) {
  const before = valuesOf(first)
  const counters = new Set(
    [...last.matchAll(/^# TYPE (\S+) (?:counter|histogram)$/gm)].map(([, name]) => name!),
  )
  return [...valuesOf(last)].map(([series, value]) => {
    const full = series.slice(0, series.indexOf('{'))
    const name = full.replace(/_(bucket|sum|count)$/, '')
    const grows = counters.has(name) || counters.has(full) || growing.includes(full)
    const was = before.get(series) ?? (grows ? '0' : '_')
    if (!grows) return { series, values: `${was}x${quietMinutes} ${value}x${troubledMinutes}` }
    const grown = Math.max(0, Number(value) - Number(was))
    return { series, values: `${was}x${quietMinutes} ${was}+${grown}x${troubledMinutes}` }
  })
}

function valuesOf(page: string): Map<string, string> {
  const found = page.split('\n').flatMap(line => {
    const [, series, value] = /^([a-zA-Z_:][\w:]*\{.*\}) (\S+)$/.exec(line) ?? []
    return series === undefined ? [] : [[series, value!] as const]
  })
  return new Map(found)
}
