import type { Consumer } from '../../contract/define-consumer.ts'
import type { Environment } from '../../environment.ts'
import type { Breaker, BreakerEvent } from '../retry/breaker.ts'

/** Reports that the source is paused, and that it is resumed. */
export function reportOutage(
  event: BreakerEvent,
  { view, waitMs }: Pick<Breaker, 'view' | 'waitMs'>,
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
      })
      break
    case 'still unavailable':
      log.warn('dependency still unavailable', { consumer: name, code, pauseMs: waitMs })
      break
    case 'closed':
      log.info('dependency available again: source resumed', { consumer: name })
  }
}
