import type { WorkRow } from '../contracts/held-work.ts'
import type { Delivery, OpenOptions, Source, Subscription } from '../contracts/source.ts'
import type { Enrolment, Store } from '../contracts/store.ts'
import { errorText } from '../errors.ts'
import { fromStoredJson } from '../stored-json.ts'
import type { Surroundings } from '../surroundings.ts'
import { ClaimedWork } from './claimed-work.ts'

export interface HeldSourceOptions {
  readonly store: Store<never>
  readonly world: Surroundings
  readonly consumerName: string
  readonly leaseMs: number
  /** A key's work is taken in order, and by one worker at a time. */
  readonly ordered: boolean
}

const pollMinMs = 20
const pollMaxMs = 500
const awayMs = 500
const freshnessMs = 5_000
const lookBackMs = 1_000

/**
 * Held work as a source: what the engine receives are rows under a lease, and what it settles are rows its own transaction has finished. While
 * the process lives the lease is extended every third of its time; when it dies others take over at its end, or at once after a polite close.
 */
export class HeldSource implements Source, Subscription {
  readonly name: string
  readonly capabilities = {
    order: { key: true, partition: false },
    positions: false,
    deliveryCount: true,
    redelivers: true,
  }
  readonly #options: HeldSourceOptions
  readonly #work = new ClaimedWork()
  #enrolment: Enrolment | null = null
  #after: string | null = null
  #lookedBackMs = 0
  #closed = false
  #delayMs = pollMinMs
  #wake: () => void = () => {}
  #kicked = false
  #cancelBeat: () => void = () => {}
  #cancelLook: () => void = () => {}
  #oldestSeconds: number | null = null
  #unwatch: () => void = () => {}

  constructor(options: HeldSourceOptions) {
    this.#options = options
    this.name = `held work of ${options.consumerName}`
  }

  async open({ enrolment }: OpenOptions): Promise<Subscription> {
    const { world, consumerName } = this.#options
    this.#enrolment = enrolment!
    this.#unwatch = world.metrics.watchFreshness(consumerName, () => this.#oldestSeconds)
    this.#beatLater()
    this.#lookLater()
    return this
  }

  /** There may be something to do now. */
  kick(): void {
    this.#kicked = true
    this.#wake()
  }

  async receive(max: number): Promise<readonly Delivery[]> {
    while (!this.#closed) {
      this.#kicked = false
      const fromStart = this.#goBackNowAndThen()
      const rows = await this.#claim(max)
      if (rows.length > 0) {
        this.#delayMs = pollMinMs
        return rows.map(deliver)
      }
      if (fromStart && this.#after === null) await this.#pause()
    }
    return []
  }

  async settle(deliveries: readonly Delivery[]): Promise<{ readonly missed: number }> {
    this.#work.forget(deliveries.map(({ held }) => held!))
    return { missed: 0 }
  }

  isLive(delivery: Delivery): boolean {
    return this.#work.has(delivery.held!)
  }

  watchClaims(deliveries: readonly Delivery[], onLost: (error: Error) => void): () => void {
    return this.#work.watch(deliveries, onLost)
  }

  dropClaims(deliveries: readonly Delivery[]): void {
    const claims = deliveries.map(({ held }) => held!).filter(claim => this.#work.has(claim))
    this.#lost(claims.length)
    this.#work.lose(claims)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#cancelBeat()
    this.#cancelLook()
    this.#unwatch()
    this.#wake()
    const { claims } = this.#work
    if (claims.length > 0) await this.#options.store.work!.giveBack(claims).catch(() => {})
  }

  /** What was freed, or committed late, lies behind the place where we look on. */
  #goBackNowAndThen(): boolean {
    const { clock } = this.#options.world
    if (clock.nowMs() - this.#lookedBackMs > lookBackMs) this.#after = null
    if (this.#after === null) this.#lookedBackMs = clock.nowMs()
    return this.#after === null
  }

  async #claim(max: number): Promise<readonly WorkRow[]> {
    const { store, world, leaseMs, ordered, consumerName } = this.#options
    try {
      const request = { countMax: max, leaseMs, ordered, after: this.#after }
      const { rows, expired, next } = await store.work!.claim(this.#enrolment!, request)
      this.#after = next
      if (rows.length > 0) world.reach('work.claimed')
      this.#work.add(rows)
      if (expired > 0) {
        world.metrics.claimsExpired(consumerName, expired)
        world.log.warn('took over work whose lease ran out', { consumer: consumerName, count: expired })
      }
      if (!this.#closed) return rows
      await store.work!.giveBack(rows)
      return []
    } catch (error) {
      const trouble = store.diagnose(error)
      if (trouble === 'configuration' || trouble === 'statement') throw error
      world.log.warn('store away, no work taken', { consumer: consumerName, error: errorText(error) })
      this.#delayMs = awayMs
      return []
    }
  }

  async #pause(): Promise<void> {
    if (this.#kicked || this.#closed) return
    const delayMs = this.#delayMs
    this.#delayMs = Math.min(pollMaxMs, delayMs * 2)
    await new Promise<void>(resolve => {
      const cancel = this.#options.world.timers.after(delayMs, resolve)
      this.#wake = () => {
        cancel()
        resolve()
      }
    })
    this.#wake = () => {}
  }

  #beatLater(): void {
    const { world, leaseMs } = this.#options
    this.#cancelBeat = world.timers.after(leaseMs / 3, () => {
      this.#beatLater()
      void this.#beat()
    })
  }

  /** Each on its own: one that hangs does not hold up the next, and one that fails changes nothing. */
  async #beat(): Promise<void> {
    const { store, leaseMs } = this.#options
    const { claims } = this.#work
    if (claims.length === 0) return
    const gone = await store.work!.extend(claims, leaseMs).catch(() => [])
    this.#lost(this.#work.notOurs(gone))
  }

  #lost(count: number): void {
    const { world, consumerName } = this.#options
    if (count === 0) return
    world.metrics.claimsLost(consumerName, count)
    world.log.warn('claims lost: the lease ran out before the work was done', {
      consumer: consumerName,
      count,
    })
  }

  #lookLater(): void {
    const { store, world } = this.#options
    this.#cancelLook = world.timers.after(freshnessMs, () => {
      this.#lookLater()
      store.work!.oldestSeconds(this.#enrolment!).then(
        seconds => {
          this.#oldestSeconds = seconds
        },
        () => {},
      )
    })
  }
}

const empty: Readonly<Record<string, never>> = Object.freeze({})

function deliver(row: WorkRow): Delivery {
  return {
    body: row.body,
    headers: row.headers === null ? empty : fromStoredJson(row.headers),
    properties: row.properties === null ? empty : (fromStoredJson(row.properties) as Delivery['properties']),
    origin: row.origin,
    position: row.position,
    partition: '',
    place: null,
    key: row.brokerKey,
    redelivered: row.deliveryCount > 0,
    deliveryCount: row.deliveryCount,
    token: null,
    held: row,
  }
}
