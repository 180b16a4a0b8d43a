import { OncewardError } from '../../errors.ts'
import type { Declared } from './alert-rules.ts'
import { objectiveSeries } from './objective-rules.ts'
import { outboxPanels, type Panel, panels } from './panels.ts'
import { quoted, type Scope, series } from './promql.ts'
import { statPanels } from './stat-panels.ts'
import { plainText } from './template-text.ts'

const source = { type: 'prometheus', uid: '$datasource' }
const columns = 2
const width = 24 / columns
const height = 8
const statHeight = 4

/** A Grafana dashboard for these consumers as JSON, to import or provision. Pure. */
export function dashboard(declared: readonly Declared[], where: Scope['where'] = []) {
  if (declared.length === 0) throw new OncewardError('usage', 'A dashboard needs at least one consumer.')
  return { ...page('Onceward consumers', 'onceward'), ...consumersOf(declared, where) }
}

/** The same for a producer that has only an outbox and a relay. */
export function relayDashboard(where: Scope['where'] = []) {
  return {
    ...page('Onceward relay', 'onceward-relay'),
    templating: { list: [datasourceVariable] },
    panels: placed(outboxPanels.map(withoutObjective), { consumer: null, where }),
  }
}

/** Objectives are recorded by consumer. */
function withoutObjective({ objective: _, ...panel }: Panel): Panel {
  return panel
}

function page(title: string, uid: string) {
  return {
    uid,
    title,
    tags: ['onceward'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
  }
}

function consumersOf(declared: readonly Declared[], where: Scope['where']) {
  const names = [...new Set(declared.map(({ consumer }) => plainText(consumer.name)))]
  return {
    templating: { list: [datasourceVariable, consumerVariable(names)] },
    panels: [...stats({ consumer: null, where }), ...placed(panels, { consumer: null, where }, statHeight)],
  }
}

/** A line of single numbers above the first row. */
function stats(scope: Scope) {
  return statPanels.map(({ title, description, unit, expression, redFrom }, index) => ({
    id: 1_000 + index,
    type: 'stat',
    title,
    description,
    datasource: source,
    gridPos: { h: statHeight, w: 24 / statPanels.length, x: index * (24 / statPanels.length), y: 0 },
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        thresholds: {
          mode: 'absolute',
          steps: [
            { color: 'green', value: null },
            ...(Number.isFinite(redFrom) ? [{ color: 'red', value: redFrom }] : []),
          ],
        },
      },
      overrides: [],
    },
    options: { reduceOptions: { calcs: ['lastNotNull'] }, graphMode: 'area', colorMode: 'value' },
    targets: [
      {
        refId: 'A',
        datasource: source,
        expr: expression((key, matchers, part) => series(scope, key, matchers, part)),
        legendFormat: title,
      },
    ],
  }))
}

const datasourceVariable = {
  name: 'datasource',
  label: 'Prometheus',
  type: 'datasource',
  query: 'prometheus',
}

function consumerVariable(names: readonly string[]) {
  const all = { text: 'All', value: '$__all', selected: true }
  return {
    name: 'consumer',
    label: 'Consumer',
    type: 'custom',
    query: names.join(','),
    multi: true,
    includeAll: true,
    current: { text: ['All'], value: ['$__all'] },
    options: [all, ...names.map(name => ({ text: name, value: name, selected: false }))],
  }
}

/** Rows of two panels under a heading for each group. */
function placed(drawnPanels: readonly Panel[], scope: Scope, top = 0) {
  const rows = [...new Set(drawnPanels.map(({ row }) => row))]
  let y = top
  let id = 0
  return rows.flatMap(title => {
    const own = drawnPanels.filter(({ row }) => row === title)
    const heading = {
      id: ++id,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { h: 1, w: 24, x: 0, y },
      panels: [],
    }
    const drawn = own.map((panel, index) => ({
      id: ++id,
      ...timeSeries(panel, scope),
      gridPos: {
        h: height,
        w: width,
        x: (index % columns) * width,
        y: y + 1 + Math.floor(index / columns) * height,
      },
    }))
    y += 1 + Math.ceil(own.length / columns) * height
    return [heading, ...drawn]
  })
}

function timeSeries({ title, description, unit, queries, objective }: Panel, scope: Scope) {
  const expressions = queries.map(({ legend, expression }) => ({
    legend,
    expr: expression((key, matchers, part) => series(scope, key, matchers, part)),
  }))
  const more = scope.where.map(([label, value]) => `,${label}=${quoted(value)}`).join('')
  const line = objective && {
    legend: '{{consumer}} objective',
    expr: `max by (consumer) (${objectiveSeries}{consumer=~"$consumer",objective="${objective}"${more}})`,
  }
  return {
    type: 'timeseries',
    title,
    description,
    datasource: source,
    fieldConfig: {
      defaults: { unit, min: 0, custom: { fillOpacity: 5, showPoints: 'never' } },
      overrides: line ? [dashed] : [],
    },
    options: {
      legend: { displayMode: 'list', placement: 'bottom' },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
    targets: [...expressions, ...(line ? [line] : [])].map(({ legend, expr }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: source,
      expr,
      legendFormat: legend,
    })),
  }
}

const dashed = {
  matcher: { id: 'byRegexp', options: '/ objective$/' },
  properties: [
    { id: 'custom.lineStyle', value: { fill: 'dash', dash: [8, 8] } },
    { id: 'custom.fillOpacity', value: 0 },
    { id: 'color', value: { mode: 'fixed', fixedColor: 'red' } },
  ],
}
