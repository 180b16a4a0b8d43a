import type { Environment } from '../../environment.ts'
import type { SourceEvent } from '../../ports/source.ts'

/** The state of the source's connection, for health checks; counts and logs each event. */
export class SourceStatus {
  readonly #names: { readonly consumer: string; readonly source: string }
  readonly #env: Environment
  #disconnected = false
  readonly #degraded = new Map<string, string>()

  constructor(consumer: string, source: string, env: Environment) {
    this.#names = { consumer, source }
    this.#env = env
  }

  /** True from the loss of the broker until the source is connected again. */
  get disconnected(): boolean {
    return this.#disconnected
  }

  /** Parts of the source that failed and are being retried, one sentence each. */
  get degraded(): readonly string[] {
    return [...this.#degraded].map(([part, reason]) => `${part} fails and is retried: ${reason}`)
  }

  record(event: SourceEvent): void {
    if (event.kind === 'connected') {
      this.#disconnected = false
      this.#degraded.clear()
    }
    if (event.kind === 'degraded') this.#degraded.set(event.part, event.reason)
    if (event.kind === 'restored') this.#degraded.delete(event.part)
    if (endsConnection(event)) this.#disconnected = true
    const { metrics, log } = this.#env
    metrics.add('sourceEvents', 1, { consumer: this.#names.consumer, kind: event.kind })
    log[isRoutine(event) ? 'info' : 'warn'](`source ${event.kind}`, { ...this.#names, ...event })
  }
}

function endsConnection({ kind }: SourceEvent): boolean {
  return kind === 'disconnected' || kind === 'cancelled' || kind === 'timed_out'
}

/** Events of every start and every change of the group; all others are trouble. */
function isRoutine(event: SourceEvent): boolean {
  if (event.kind === 'revoked') return event.orderly === true
  return ['connected', 'ended', 'assigned', 'restored'].includes(event.kind)
}
