import type { Consumer } from '../../contract/define-consumer.ts'
import type { Environment } from '../../environment.ts'
import type { Breaker, BreakerEvent } from '../retry/breaker.ts'

/** `reason`: the error, where one is known. */
export interface OutageFacts extends Pick<Breaker, 'view' | 'waitMs'> {
  readonly reason?: string
}

/** Reports that the source is paused, and that it is resumed. */
export function reportOutage(
  event: BreakerEvent,
  { view, waitMs, reason }: OutageFacts,
  { name }: Pick<Consumer, 'name'>,
  { log, metrics }: Environment,
): void {
  const { code, failures } = view
  switch (event) {
    case 'opened':
      metrics.add('pauses', 1, { consumer: name })
      log.warn('dependency unavailable: source paused, no attempt counted', {
        consumer: name,
        code,
        failures,
        pauseMs: waitMs,
        ...(reason && { reason }),
      })
      break
    case 'still unavailable':
      log.warn('dependency still unavailable', {
        consumer: name,
        code,
        pauseMs: waitMs,
        ...(reason && { reason }),
      })
      break
    case 'closed':
      log.info('dependency available again: source resumed', { consumer: name })
  }
}
