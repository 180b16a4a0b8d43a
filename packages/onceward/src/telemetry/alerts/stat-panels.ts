import type { MetricKey } from '../catalogue.ts'
import type { Panel, Series } from './panels.ts'
import { onceOf } from './promql.ts'

/** One number over all chosen consumers, for the first look at an incident. */
export interface StatPanel extends Pick<Panel, 'title' | 'description' | 'unit'> {
  readonly expression: (series: Series) => string
  /** From this value on, the number is red. */
  readonly redFrom: number
}

const highest = (key: MetricKey) => (series: Series) => `max(${series(key)}) or vector(0)`
const total = (key: MetricKey, by: readonly string[]) => (series: Series) =>
  `sum(${onceOf(series(key), by)}) or vector(0)`

export const statPanels: readonly StatPanel[] = [
  {
    title: 'Applied per second',
    description: 'First-time effects of all chosen consumers.',
    unit: 'ops',
    expression: series => `sum(rate(${series('applied')}[$__rate_interval])) or vector(0)`,
    redFrom: Number.POSITIVE_INFINITY,
  },
  {
    title: 'Oldest message that is not applied',
    description: 'Received and not applied, or stored and not applied.',
    unit: 's',
    expression: highest('effectLag'),
    redFrom: 60,
  },
  {
    title: 'Waiting for a person',
    description: 'Parked, dead-lettered and quarantined messages.',
    unit: 'short',
    expression: total('attention', ['consumer', 'reason']),
    redFrom: 1,
  },
  {
    title: 'Consumers that take no messages',
    description: 'Halted, paused, or without their source.',
    unit: 'short',
    expression: series => `count(min by (consumer) (${series('up')}) == 0) or vector(0)`,
    redFrom: 1,
  },
]
