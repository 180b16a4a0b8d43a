import type { Environment } from '../environment.ts'
import { errorCode, errorText } from '../errors.ts'
import type { RelayCarrier } from './open-relays.ts'
import type { Outlet } from './outlet.ts'

const againMs = 1_000

/**
 * A relay leases no row before it knows the destination of its address, so it starts with the first
 * connection. It waits for an unavailable broker; a broker that refuses the login or lacks the virtual host
 * ends it with that error, as at the start of a consumer.
 */
export class RelayWhenReached implements RelayCarrier {
  readonly finished: Promise<void>
  readonly #outlet: Outlet
  readonly #begin: (destination: string) => RelayCarrier
  readonly #env: Environment
  readonly #end = Promise.withResolvers<void>()
  #relay: RelayCarrier | null = null
  #closed = false
  #reported = ''
  #cancel: () => void = () => {}

  constructor(outlet: Outlet, begin: (destination: string) => RelayCarrier, env: Environment) {
    this.#outlet = outlet
    this.#begin = begin
    this.#env = env
    this.finished = this.#end.promise
    this.finished.catch(() => {})
  }

  get unreachable(): readonly string[] {
    return this.#relay?.unreachable ?? [this.#outlet.label]
  }

  start(): void {
    void this.#reach()
  }

  kick(): void {
    this.#relay?.kick()
  }

  async drain(deadlineMs?: number): Promise<void> {
    if (this.#relay === null) this.leave()
    else await this.#relay.drain(deadlineMs)
    await this.finished
  }

  leave(): void {
    if (this.#relay !== null) return this.#relay.leave()
    this.#closed = true
    this.#cancel()
    void this.#outlet.close().finally(() => this.#end.resolve())
  }

  #refuse(error: unknown): void {
    this.#closed = true
    void this.#outlet.close().finally(() => this.#end.reject(error))
  }

  async #reach(): Promise<void> {
    try {
      const destination = await this.#outlet.reach()
      if (this.#closed) return
      const relay = this.#begin(destination)
      this.#relay = relay
      relay.finished.then(this.#end.resolve, this.#end.reject)
      await relay.start()
    } catch (error) {
      if (this.#closed) return
      if (this.#relay !== null) {
        // Rejects before it leaves, because leaving resolves.
        this.#end.reject(error)
        return this.#relay.leave()
      }
      if (errorCode(error) === 'configuration') return this.#refuse(error)
      const reason = errorText(error)
      // Logs once: an hour of outage would be 3,600 lines.
      if (reason !== this.#reported)
        this.#env.log.warn('relay cannot reach its broker yet; rows wait in the outbox', {
          broker: this.#outlet.label,
          error: reason,
        })
      this.#reported = reason
      this.#cancel = this.#env.timers.after(againMs, () => void this.#reach())
    }
  }
}
