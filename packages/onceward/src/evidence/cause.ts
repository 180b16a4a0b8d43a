import type { Envelope } from '../contract/handler.ts'

/**
 * Two columns of a row: the message that wrote it last, and the run. `onceward.run` has the run's consumer,
 * code version, mode and campaign.
 */
export interface Cause {
  readonly caused_by: string
  readonly caused_by_run: number
}

/**
 * For handlers: spread it into the row they write. The columns are `caused_by text` and
 * `caused_by_run integer`.
 */
export function cause({
  envelope,
  run,
}: {
  readonly envelope: Pick<Envelope, 'id'>
  readonly run: number
}): Cause {
  return { caused_by: envelope.id, caused_by_run: run }
}
