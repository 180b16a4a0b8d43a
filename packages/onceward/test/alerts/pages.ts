import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { alerts } from '../../src/alerts/alerts.ts'
import { renderRunbook } from '../../src/alerts/runbook.ts'
import { runbooks } from '../../src/alerts/runbooks.ts'
import { catalogue, prometheusName } from '../../src/observe/catalogue.ts'
import { everything } from './declared.ts'

const path = (name: string) => fileURLToPath(new URL(`../../../../docs/${name}`, import.meta.url))
export const readPage = (name: string) => readFileSync(path(name), 'utf8')

/** What `docs/runbooks.md` has below its first words. */
export const printedRunbooks = () => runbooks.map(runbook => renderRunbook(runbook, everything)).join('\n')

/** The rows of `docs/alerts.md`. */
export const alertRows = () =>
  alerts.map(alert => {
    const metrics = alert.metrics.map(key => `\`${prometheusName(catalogue[key])}\``).join(', ')
    const seeds = [...new Set(alert.seeds.map(seed => seed.split(':')[0]))].join(', ')
    return `| \`${alert.name}\` | ${seeds} | [${alert.runbook}](runbooks.md#${alert.runbook}) | ${metrics} |`
  })

/** Run by hand when alerts or runbooks have changed: node --conditions=@onceward/source test/alerts/pages.ts */
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [head] = readPage('runbooks.md').split(/^## /m)
  writeFileSync(path('runbooks.md'), `${head}${printedRunbooks()}`)
  const lines = readPage('alerts.md').split('\n')
  const first = lines.findIndex(line => line.startsWith('| alert '))
  const rest = lines.filter((line, index) => index > first + 1 && !line.startsWith('| `Onceward'))
  writeFileSync(path('alerts.md'), [...lines.slice(0, first + 2), ...alertRows(), ...rest].join('\n'))
}
