import { exitCodeOf } from '../../packages/onceward/src/cli/output.ts'
import { errorMeanings } from './error-meanings.ts'
import { page, table } from './markdown.ts'

export function errorsPage(): string {
  const rows = Object.entries(errorMeanings).map(([code, { happened, remedy }]) => [
    `\`${code}\``,
    happened,
    remedy,
    String(exitCodeOf(code)),
  ])
  return page(
    'Errors',
    'Every error of the library is an `OncewardError` with a stable `code`, a `message` that says what was lost and what to do, `details`, and the `cause`\n' +
      'where there is one. Commands end with the exit code in the last column, 0 when all went well; with `--json` they print `{ "ok": false, "code", "error" }`.\n' +
      'Failures of single messages have classes of their own: [when a message fails](../failure.md).',
    table(['code', 'what happened', 'what to do', 'exit'], rows),
  )
}
