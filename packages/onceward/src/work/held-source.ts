import type { Decided } from '../engine/batch/batch-attempt.ts'
import type { LocalHandoff } from '../engine/batch/local-handoff.ts'
import type { SharedLock } from '../engine/batch/shared-lock.ts'
import type { Environment } from '../environment.ts'
import { errorText } from '../errors.ts'
import { emptyMap } from '../message/bare-map.ts'
import { fromStoredJson } from '../message/stored-json.ts'
import type { Enrolment } from '../ports/enrolment.ts'
import type { WorkHolder, WorkRow } from '../ports/held-work.ts'
import type { Delivery, OpenOptions, Source, SubscribedLeases, Subscription } from '../ports/source.ts'
import type { Store } from '../ports/store.ts'
import { HandoffQueue, handedDelivery } from './handoff-queue.ts'
import { keepLeases, reportLost } from './keep-leases.ts'
import { LeasedRows } from './leased-rows.ts'
import { WorkPace } from './work-pace.ts'

export interface HeldSourceOptions {
  readonly store: Store<never>
  readonly env: Environment
  readonly consumerName: string
  readonly leaseMs: number
  /** Batches that run in parallel. */
  readonly workers: number
  /** The work of a key is leased in order, by one worker at a time. */
  readonly ordered: boolean
  /**
   * If set: pauses for this long after a lease that left nothing, while other batches run, so that single
   * messages are leased together.
   */
  readonly rest: { readonly ms: number; readonly lock: Pick<SharedLock, 'entered' | 'busy'> } | null
}

const pollMinMs = 20
const pollMaxMs = 500
const awayMs = 500
const lookBackMs = 1_000

/**
 * Held work as a source: the engine receives leased rows and settles rows that its own transaction has
 * finished. The process extends a lease every third of its duration. After a crash, other workers lease the
 * rows when the lease ends; after a clean close, at once.
 */
export class HeldSource implements Source, Subscription, LocalHandoff {
  readonly name: string
  readonly capabilities = {
    order: { key: true, partition: false },
    positions: false,
    deliveryCount: true,
    redelivers: true,
  }
  readonly leases: SubscribedLeases = {
    watch: (deliveries, onLost) => this.#work.watch(deliveries, onLost),
    drop: deliveries => this.#drop(deliveries),
  }
  readonly #options: HeldSourceOptions
  readonly #work = new LeasedRows()
  readonly #handed = new HandoffQueue()
  readonly #pace = new WorkPace()
  #enrolment: Enrolment | null = null
  #bytesMax = 0
  #max = 0
  #backlog = true
  #handedLast = false
  #after: string | null = null
  #lookedBackMs = 0
  #restUntilMs = 0
  #closed = false
  #delayMs = pollMinMs
  #wake: () => void = () => {}
  #kicked = false
  #unavailable = false
  #stopKeeping: () => void = () => {}

  constructor(options: HeldSourceOptions) {
    this.#options = options
    this.name = `held work of ${options.consumerName}`
  }

  async open({ enrolment, inFlightBytesMax }: OpenOptions): Promise<Subscription> {
    this.#enrolment = enrolment!
    this.#bytesMax = inFlightBytesMax
    this.#stopKeeping = keepLeases(this.#work, this.#options)
    return this
  }

  /**
   * Room for all running batches and one more, or for the work of one second if that is more. Other processes
   * lease the rest.
   */
  holderOf(count: number, bytes: number): WorkHolder | null {
    const { workers, leaseMs, ordered, env } = this.#options
    const room = Math.max(this.#max * (workers + 1), this.#pace.perSecond(env.clock.nowMs()))
    const fits = this.#work.size + count <= room && this.#handed.bytes + bytes <= this.#bytesMax
    if (fits && !this.#closed) return { runId: this.#enrolment!.runId, leaseMs, ordered }
    this.#backlog = true
    return null
  }

  take(decided: readonly Decided[]): void {
    const leased = decided.filter(({ lease }) => lease !== undefined)
    if (decided.some(({ decision, lease }) => decision.outcome === 'stored' && !lease)) this.#backlog = true
    if (leased.length === 0) return
    this.#options.env.reach('work.handoff')
    const leases = leased.map(({ lease }) => lease!)
    if (this.#closed) return void this.#options.store.work!.giveBack(leases).catch(() => {})
    this.#work.add(leases)
    this.#handed.push(leased.map(handedDelivery))
    this.#wake()
  }

  /** There may be work now. */
  kick(): void {
    this.#kicked = true
    this.#wake()
  }

  async receive(max: number): Promise<readonly Delivery[]> {
    const { clock } = this.#options.env
    this.#max = max
    // Rows that were released or committed late are before the current position.
    if (clock.nowMs() - this.#lookedBackMs > lookBackMs) this.#after = null
    else if (this.#handedTurn()) return this.#takeHanded(max)
    let whole = this.#after === null
    while (!this.#closed) {
      await this.#rest()
      if (this.#after === null) this.#kicked = false
      const rows = await this.#lease(max)
      if (whole) this.#lookedBackMs = clock.nowMs()
      if (rows.length > 0) {
        this.#delayMs = pollMinMs
        this.#handedLast = false
        return rows.map(deliver)
      }
      if (this.#handed.size > 0) return this.#takeHanded(max)
      // Blocked rows may fill many pages: only the last page shows that no other work exists.
      if (this.#after !== null) continue
      if (whole) await this.#pause()
      if (this.#handed.size > 0) return this.#takeHanded(max)
      whole = true
    }
    return []
  }

  /** While the store has work of other processes, it and the local handoff take turns. */
  #handedTurn(): boolean {
    return this.#handed.size > 0 && !(this.#backlog && this.#handedLast)
  }

  #takeHanded(max: number): readonly Delivery[] {
    this.#handedLast = true
    this.#delayMs = pollMinMs
    return this.#handed.take(max)
  }

  async settle(deliveries: readonly Delivery[]): Promise<{ readonly missed: number }> {
    this.#work.forget(deliveries.map(({ held }) => held!))
    this.#pace.done(deliveries.length, this.#options.env.clock.nowMs())
    return { missed: 0 }
  }

  isLive(delivery: Delivery): boolean {
    return this.#work.has(delivery.held!)
  }

  #drop(deliveries: readonly Delivery[]): void {
    const leases = deliveries.map(({ held }) => held!).filter(lease => this.#work.has(lease))
    reportLost(leases.length, this.#options)
    this.#work.lose(leases)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#stopKeeping()
    this.#wake()
    const { leases } = this.#work
    if (leases.length > 0) await this.#options.store.work!.giveBack(leases).catch(() => {})
  }

  async #lease(max: number): Promise<readonly WorkRow[]> {
    const { store, env, leaseMs, ordered, consumerName, rest } = this.#options
    try {
      const request = { countMax: max, leaseMs, ordered, after: this.#after }
      const { rows, expired, next } = await store.work!.lease(this.#enrolment!, request)
      if (this.#unavailable) env.log.info('store available again, leasing work', { consumer: consumerName })
      this.#unavailable = false
      this.#after = next
      this.#backlog = next !== null
      if (next === null && rest !== null) this.#restUntilMs = env.clock.nowMs() + rest.ms
      if (rows.length > 0) env.reach('work.leased')
      this.#work.add(rows)
      if (expired > 0) {
        env.metrics.add('leasesExpired', expired, { consumer: consumerName })
        env.log.warn('leased work whose lease had expired', { consumer: consumerName, count: expired })
      }
      if (!this.#closed) return rows
      await store.work!.giveBack(rows)
      return []
    } catch (error) {
      const trouble = store.diagnose(error)
      if (trouble === 'configuration' || trouble === 'statement') throw error
      if (this.#closed) return []
      if (!this.#unavailable)
        env.log.warn('store unavailable, no work leased', { consumer: consumerName, error: errorText(error) })
      this.#unavailable = true
      this.#after = null
      this.#delayMs = awayMs
      return []
    }
  }

  /** Ends when no other batch runs. A kick does not end it: every other batch sends one. */
  async #rest(): Promise<void> {
    const { env, rest } = this.#options
    if (rest === null) return
    for (let begun = -1; rest.lock.busy || begun !== rest.lock.entered; ) {
      if (this.#closed || env.clock.nowMs() >= this.#restUntilMs) return
      begun = rest.lock.entered
      await new Promise<void>(resolve => env.timers.after(pollMinMs, resolve))
    }
  }

  async #pause(): Promise<void> {
    if (this.#kicked || this.#closed) return
    const delayMs = this.#delayMs
    this.#delayMs = Math.min(pollMaxMs, delayMs * 2)
    await new Promise<void>(resolve => {
      const cancel = this.#options.env.timers.after(delayMs, resolve)
      this.#wake = () => {
        cancel()
        resolve()
      }
    })
    this.#wake = () => {}
  }
}

function deliver(row: WorkRow): Delivery {
  return {
    body: row.body,
    headers: row.headers === null ? emptyMap : fromStoredJson(row.headers),
    properties:
      row.properties === null ? emptyMap : (fromStoredJson(row.properties) as Delivery['properties']),
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
