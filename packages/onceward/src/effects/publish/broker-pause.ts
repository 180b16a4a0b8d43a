import type { Environment } from '../../environment.ts'
import { errorCode } from '../../errors.ts'
import { unavailableDelayMs } from '../store-unavailable.ts'
import type { PublishedRows } from './publish-rows.ts'

/** The broker refused this message. Retrying soon does not help. */
export function isRefusal(error: Error): boolean {
  return ['publish_unroutable', 'publish_refused'].includes(errorCode(error))
}

/**
 * While a broker accepts no message at all, the relay starts rounds less and less often, down to one every 5
 * s.
 */
export class BrokerPause {
  readonly #env: Pick<Environment, 'clock' | 'random'>
  #failures = 0
  #untilMs = Number.NEGATIVE_INFINITY

  constructor(env: Pick<Environment, 'clock' | 'random'>) {
    this.#env = env
  }

  get on(): boolean {
    return this.#env.clock.nowMs() < this.#untilMs
  }

  /**
   * True from a round in which the broker accepted nothing until a round in which it accepts or refuses a
   * message.
   */
  get unavailable(): boolean {
    return this.#failures > 0
  }

  record({ confirmed, failed }: PublishedRows): void {
    const unavailable = confirmed.length === 0 && failed.length > 0
    if (!unavailable || failed.some(({ error }) => isRefusal(error))) this.#failures = 0
    else this.#untilMs = this.#env.clock.nowMs() + unavailableDelayMs(this.#failures++, this.#env.random())
  }
}
