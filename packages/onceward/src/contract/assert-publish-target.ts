import { OncewardError } from '../errors.ts'
import { publishProblems } from './publish-problems.ts'

/** For targets that stand in no contract. */
export function assertPublishTarget(target: unknown): void {
  const problems: string[] = []
  publishProblems({ target }, (place, text) =>
    problems.push(`${place.replace(/^effect\.publish\./, '')} ${text}`),
  )
  if (problems.length > 0)
    throw new OncewardError(
      'configuration',
      `Nothing was written: ${problems.join('; ')}. Correct the target and try again.`,
    )
}
