import { OncewardError } from '../errors.ts'
import type { ConsumerFacts } from './enrolment.ts'

/** The error of `enroll` when `dedup: 'checkpoint'` would repeat effects. */
export function keptBesideMarkers({ name, generation }: ConsumerFacts): OncewardError {
  return new OncewardError(
    'configuration',
    `Consumer ${name} (generation ${generation}) has read without dedup 'checkpoint' until now. Its position may lag the effects, and with dedup 'checkpoint' no marker would recognise the difference. Nothing was started. Keep its dedup, or begin a new generation at a position you choose.`,
  )
}
