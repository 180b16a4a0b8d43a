import { cliPage } from './cli-page.ts'
import { errorsPage } from './errors-page.ts'

/** The pages below docs/reference, by file name. */
export function referencePages(): Record<string, string> {
  return { 'errors.md': errorsPage(), 'cli.md': cliPage() }
}
