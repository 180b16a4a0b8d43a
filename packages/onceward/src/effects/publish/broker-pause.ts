import type { Environment } from '../../environment.ts'
import { errorCode } from '../../errors.ts'
import { awayDelayMs } from '../store-away.ts'
import type { PublishedRows } from './publish-rows.ts'

/** The broker looked at the message and does not want it: trying again soon helps nobody. */
export function isRefusal(error: Error): boolean {
  return ['publish_unroutable', 'publish_refused'].includes(errorCode(error))
}

/** While a broker takes nothing at all, rounds are begun less and less often, down to one in five seconds. */
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

  /** From a round of which it took nothing to one of which it took or refused something. */
  get away(): boolean {
    return this.#failures > 0
  }

  heed({ confirmed, failed }: PublishedRows): void {
    const away = confirmed.length === 0 && failed.length > 0
    if (!away || failed.some(({ error }) => isRefusal(error))) this.#failures = 0
    else this.#untilMs = this.#env.clock.nowMs() + awayDelayMs(this.#failures++, this.#env.random())
  }
}
