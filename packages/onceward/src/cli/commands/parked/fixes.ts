import type { RecordedFix } from '../../../operations/parking/list-fixes.ts'
import { oneLine, safe } from '../../output.ts'

/** What each fix of a message changed, oldest first. An approver reads the last one. */
export function fixesText(fixes: readonly RecordedFix[]): string {
  if (fixes.length === 0) return 'fixes\n  none'
  return fixes.map(fix => `${title(fix)}\n${changes(fix)}`).join('\n\n')
}

const title = ({ kind, at, by, because }: RecordedFix) =>
  `${kind === 'payload' ? 'fixed payload' : 'fixed elsewhere'}, ${at.toISOString()}, by ${oneLine(by)}: ${oneLine(because)}`

function changes({ kind, diff }: RecordedFix): string {
  if (kind === 'state') return '  the payload was not changed'
  if (diff === null) return '  not text, or too long to compare: --body-to writes the new payload to a file'
  return diff.map(({ sign, text }) => `  ${sign} ${safe(text)}`).join('\n')
}
