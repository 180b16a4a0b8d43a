import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { alertsTable, withRunbooks } from './alerts-pages.ts'
import { checklistsPage } from './checklists-page.ts'
import { checksPage } from './checks-page.ts'
import { cliPage } from './cli-page.ts'
import { combinationsPage } from './combinations-page.ts'
import { errorsPage } from './errors-page.ts'
import { replaceTable } from './markdown.ts'
import { metricsTable } from './metrics-table.ts'
import { policyPage } from './policy-page.ts'
import { reliabilityPage } from './reliability-page.ts'
import { requirementsPage } from './requirements-page.ts'

export const docs = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'docs')

/** Generated pages, by path below docs. */
export const wholePages: Readonly<Record<string, () => string>> = {
  'reference/errors.md': errorsPage,
  'reference/cli.md': cliPage,
  'reference/policy.md': policyPage,
  'checks.md': checksPage,
  'checklists.md': checklistsPage,
  'combinations.md': combinationsPage,
  'reliability.md': () => reliabilityPage(),
  'requirements.md': requirementsPage,
}

/** Generated tables in handwritten pages; the head identifies the table. */
export const writtenTables: Readonly<Record<string, () => string>> = {
  'metrics.md': metricsTable,
  'alerts.md': alertsTable,
}

/** Every page with generated content, as it should be. */
export function referencePages(): Record<string, string> {
  const now = (path: string) => readFileSync(join(docs, path), 'utf8')
  const whole = Object.entries(wholePages).map(([path, write]) => [path, write()])
  const parts = Object.entries(writtenTables).map(([path, write]) => [
    path,
    replaceTable(now(path), write(), path),
  ])
  return Object.fromEntries([...whole, ...parts, ['runbooks.md', withRunbooks(now('runbooks.md'))]])
}
