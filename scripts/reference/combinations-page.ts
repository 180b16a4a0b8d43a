import { coveringCombinations } from '../../packages/onceward/test/matrix/covering.ts'
import {
  type Choice,
  type Dimension,
  dimensionNames,
  dimensions,
} from '../../packages/onceward/test/matrix/dimensions.ts'
import { choosable, pairRefusal } from '../../packages/onceward/test/matrix/refusal.ts'
import { wrapped } from './markdown.ts'

const titles: Record<Dimension, string> = {
  mode: 'mode of the run',
  source: '`source`',
  inbox: '`inbox.mode`',
  failure: '`failure.mode`',
  dedup: '`dedup`',
  order: '`order`',
  store: 'store',
}

/** `docs/combinations.md`, from the combinations that the product refuses and those that the test runs. */
export function combinationsPage(): string {
  const reasons: string[] = []
  const tables = dimensionNames.flatMap((first, index) =>
    dimensionNames.slice(index + 1).map(second => table(first, second, reasons)),
  )
  const listed = reasons.map((reason, index) => `${index + 1}. ${reason}`)
  return wrapped(`# Combinations

A contract chooses a source, an inbox mode, a failure mode, a dedup method, an order and a store, and it runs
live or in a campaign. Of ${Object.values(dimensions)
    .reduce((product, values) => product * values.length, 1)
    .toLocaleString(
      'en',
    )} combinations, ${choosable.length.toLocaleString('en')} can be chosen. Onceward refuses the others before anything starts.

This page shows every pair of choices. \`run\` means that \`test/matrix\` runs the pair on real servers: live work with
failures, a restart, duplicates, a campaign, and live work again. A number means that the pair is refused, and
links to the reason.

The test runs ${coveringCombinations().length} combinations that together contain every pair, and some random ones from a seed
(\`ONCEWARD_MATRIX_SEED\`, \`ONCEWARD_MATRIX_DRAWN\`). Queues keep no history, so campaigns for them read a file.
With \`dedup: 'version'\` the effect is a projection, and a message that never succeeds is one whose column cannot be read: it is quarantined.
The property tests of parking draw every contract on a PostgreSQL queue from the same choices, and the simulator has a scenario for each order and dedup of queues and logs.

${tables.join('\n')}
## Why a pair is refused

${listed.join('\n')}
`)
}

function table(first: Dimension, second: Dimension, reasons: string[]): string {
  const cell = (one: string, other: string) =>
    cellOf(pairRefusal([[first, one] as Choice, [second, other] as Choice]), reasons)
  const rows = dimensions[first].map(
    one => `| ${one} | ${dimensions[second].map(other => cell(one, other)).join(' | ')} |`,
  )
  return `## ${capital(titles[first])} and ${titles[second]}

| | ${dimensions[second].join(' | ')} |
| --- |${' --- |'.repeat(dimensions[second].length)}
${rows.join('\n')}
`
}

function cellOf(refusal: string | null, reasons: string[]): string {
  if (refusal === null) return 'run'
  const reason = refusal.split('\n')[0]!
  if (!reasons.includes(reason)) reasons.push(reason)
  return `[${reasons.indexOf(reason) + 1}](#why-a-pair-is-refused)`
}

const capital = (text: string) => text.replace(/^[a-z]/, letter => letter.toUpperCase())
