import type { Consumer } from '../../contract/define-consumer.ts'
import type { Environment } from '../../environment.ts'
import type { Breaker, BreakerEvent } from '../retry/breaker.ts'

/** Tells people that the source is paused, and that it goes on. */
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
      log.warn('downstream away: source paused, no attempt counted', {
        consumer: name,
        code,
        failures,
        pauseMs: waitMs,
      })
      break
    case 'still away':
      log.warn('downstream still away', { consumer: name, code, pauseMs: waitMs })
      break
    case 'closed':
      log.info('downstream answers again: source resumed', { consumer: name })
  }
}
