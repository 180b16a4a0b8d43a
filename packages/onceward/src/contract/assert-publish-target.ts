import { OncewardError } from '../errors.ts'
import { problemsAt } from './options/option-problems.ts'
import { publishTargetProblems } from './publish-problems.ts'

/** For targets outside a contract. */
export function assertPublishTarget(target: unknown): void {
  const problems: string[] = []
  const wrong = (place: string, text: string) => void problems.push(`${place} ${text}`)
  problemsAt('effect.publish.*', target, 'target', wrong)
  publishTargetProblems('target', target, wrong)
  if (problems.length > 0)
    throw new OncewardError(
      'configuration',
      `Nothing was written: ${problems.join('; ')}. Correct the target and try again.`,
    )
}
