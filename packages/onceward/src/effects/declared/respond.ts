import { oneOf, type Report } from '../../contract/check-values.ts'
import { Verdict } from '../../engine/batch/verdicts.ts'
import { OncewardError } from '../../errors.ts'

/**
 * The handling of a message that changed nothing:
 *
 * | response     | the message is                                                        |
 * | ------------ | --------------------------------------------------------------------- |
 * | `duplicate`  | marked as one and settled                                             |
 * | `ignore`     | marked as needing no effect and settled                               |
 * | `stale`      | marked as overtaken and settled                                       |
 * | `retry`      | tried again after `retryDelayMs`, and parked when attempts run out    |
 * | `park`       | parked; with key order, later messages of its key wait behind it      |
 * | `reject`     | dead-lettered                                                         |
 * | `quarantine` | quarantined: it is not retried automatically                          |
 * | `halt`       | not settled, and the consumer stops: an operator must act first       |
 */
export type EffectResponse =
  | 'duplicate'
  | 'ignore'
  | 'stale'
  | 'retry'
  | 'park'
  | 'reject'
  | 'quarantine'
  | 'halt'

const responses: readonly EffectResponse[] = [
  'duplicate',
  'ignore',
  'stale',
  'retry',
  'park',
  'reject',
  'quarantine',
  'halt',
]

export function responseProblems(
  on: Readonly<Record<string, unknown>> | undefined,
  known: readonly string[],
  wrong: Report,
): void {
  for (const [name, response] of Object.entries(on ?? {})) {
    if (!known.includes(name))
      wrong(`on.${name}`, `is not a known case; known: ${known.map(one => `'${one}'`).join(', ')}`)
    else oneOf(response, responses, `on.${name}`, wrong)
  }
}

/**
 * Returns the verdict for a response. `halt` throws: the engine splits the batch until this message is alone,
 * then stops the consumer.
 */
export function respond(
  response: EffectResponse,
  reason: string,
  code: string,
  retryDelayMs: number,
): Verdict {
  switch (response) {
    case 'retry':
      return Verdict.retryAfter(retryDelayMs, reason, code)
    case 'halt':
      throw new OncewardError(
        'effect_halted',
        `${reason} (${code}). The declaration halts the consumer here. Nothing was written or settled. Correct the data, then start the consumer again.`,
      )
    default:
      return Verdict[response](reason, code)
  }
}
