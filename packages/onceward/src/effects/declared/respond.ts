import { oneOf, type Report } from '../../contract/check-values.ts'
import { Verdict } from '../../engine/batch/verdicts.ts'
import { OncewardError } from '../../errors.ts'

/**
 * What becomes of a message that changed nothing:
 *
 * | word         | the message is                                                        |
 * | ------------ | --------------------------------------------------------------------- |
 * | `duplicate`  | marked as one and settled                                             |
 * | `ignore`     | marked as needing no effect and settled                               |
 * | `stale`      | marked as overtaken and settled                                       |
 * | `retry`      | tried again after `retryDelayMs`, and parked when attempts run out    |
 * | `park`       | set aside; under key order later ones of its key wait behind it       |
 * | `reject`     | dead-lettered                                                         |
 * | `quarantine` | set aside as unsafe to try again by itself                            |
 * | `halt`       | not settled, and the consumer stops: people must act first            |
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
      wrong(`on.${name}`, `is no such case; known: ${known.map(one => `'${one}'`).join(', ')}`)
    else oneOf(response, responses, `on.${name}`, wrong)
  }
}

/**
 * The verdict for a response. `halt` throws: the batch is taken apart until this message is alone, and stops
 * the consumer.
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
        `${reason} (${code}). The declaration says to halt on this. Nothing of it was written or settled; put it right, then start again.`,
      )
    default:
      return Verdict[response](reason, code)
  }
}
