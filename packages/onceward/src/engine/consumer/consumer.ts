import type { Consumer } from '../../contract/define-consumer.ts'
import type { Mode } from '../../contract/handler.ts'
import type { Delivery, Source, SourceEvent, Stall, Subscription } from '../../contracts/source.ts'
import type { Enrolment, Store } from '../../contracts/store.ts'
import { errorCode, errorText, OncewardError } from '../../errors.ts'
import type { Received } from '../../message/received.ts'
import { messagingSystem } from '../../observe/messaging-system.ts'
import type { Surroundings } from '../../surroundings.ts'
import { BatchLine } from '../batch/batch-runner.ts'
import type { InlineCall } from '../batch/buffer-effects.ts'
import { type Decided, firstTries, type Stage } from '../batch/commit-batch.ts'
import type { HorizonCheck } from '../batch/horizon-guard.ts'
import type { HandOver } from '../batch/local-handoff.ts'
import { StorePaused } from '../batch/recover-attempt.ts'
import { Suspicion } from '../crash-suspects/crash-suspects.ts'
import { WaryReading } from '../crash-suspects/suspect-reader.ts'
import { SuspectLine, type SuspectTry } from '../crash-suspects/suspect-runner.ts'
import type { Breaker, BreakerView } from '../retry/breaker.ts'
import { mayBeOfMessage } from '../retry/halt-cause.ts'
import { HeldRetries } from '../retry/pending-retries.ts'
import { assertKeepable } from './assert-keepable.ts'
import { BatchSize } from './batch-size.ts'
import { checkpointsOf, progressOf } from './checkpoints.ts'
import { type Addressing, consumerFacts } from './consumer-facts.ts'
import { Intake } from './intake.ts'
import { Lanes } from './lanes.ts'
import { reportOutage } from './report-outage.ts'
import { createPair, type WorkerPair } from './shared-limits.ts'
import { StoreWatch } from './store-watch.ts'
import { Tally, type TallySnapshot } from './tally.ts'

export interface ConsumerOptions<M, Tx> {
  readonly consumer: Consumer<M, Tx>
  readonly source: Source
  readonly store: Store<Tx>
  readonly world: Surroundings
  readonly mode?: Mode
  /** External effects and messages are not asked for. Default in every mode but `live`. */
  readonly suppresses?: boolean
  /** Default: what the contract's inbox says. `work` for a process that takes up held work. */
  readonly stage?: Stage
  /** Names this process in the runs table. */
  readonly instance: string
  /** Called after every committed batch: what it left for a dispatcher or a relay may be taken now. */
  readonly onCommitted?: () => void
  /** Makes the calls of `effects.call`; without it they are refused. */
  readonly callInline?: InlineCall
  /** The worker beside a consumer that stores. */
  readonly handOver?: HandOver
  /** Default, in modes `live` and `replay`: what is older than the markers that are left is parked, or as the contract says. */
  readonly horizon?: HorizonCheck
  /** Shared by a consumer and the worker beside it, which call the same downstream and lock the same rows; default its own. */
  readonly shared?: WorkerPair
  /** Where its messages go. Default: the only destination of each kind of broker. */
  readonly addressing?: Addressing
  /** Called when the downstream is found to be away, and with null when it is back. */
  readonly onOutage?: (enrolment: Enrolment, outage: BreakerView | null) => void
}

export type ConsumerState = 'new' | 'running' | 'draining' | 'stopped' | 'halted'

/**
 * The life of one consumer:
 *
 *   new ──start──▶ running ──drain──▶ draining ──▶ stopped
 *                     └── configuration error, broken invariant ──▶ halted (nothing settled)
 *
 * While running, one receive is outstanding whenever a batch slot is free: what arrived meanwhile is the next batch,
 * so batches grow with load and no timer forms them. A batch keeps its slot until it is decided and settled; a
 * store that is away keeps it too. With all slots taken only one batch is read ahead, so that it can start the moment a slot is free:
 * reading it then would leave the server idle for as long.
 */
export class ConsumerProcess<M, Tx> {
  readonly #options: ConsumerOptions<M, Tx>
  readonly #lanes = new Lanes()
  readonly #intake: Intake<M>
  readonly #size: BatchSize
  readonly #stage: Stage
  readonly #tally = new Tally()
  readonly #leaving = new AbortController()
  readonly #done = Promise.withResolvers<void>()
  readonly #held: HeldRetries
  readonly #watch: StoreWatch<Tx>
  readonly #shared: WorkerPair
  readonly #breaker: Breaker
  #state: ConsumerState = 'new'
  #sourceAway = false
  readonly #degraded = new Map<string, string>()
  #enrolment: Enrolment | null = null
  #subscription: Subscription | null = null
  #line: BatchLine<M, Tx> | null = null
  #suspicion: Suspicion | null = null
  #suspects: SuspectLine<M, Tx> | null = null
  #wary: WaryReading<M, Tx> | null = null
  #receiving = false
  #batchesInFlight = 0
  /** Suspects are being read, with an attempt of theirs on record: a handler that ends the process now would be blamed on one of them. */
  #readingAlone = 0
  #onIdle: (() => void)[] = []

  constructor(options: ConsumerOptions<M, Tx>) {
    this.#options = options
    const { source, store, world, consumer } = options
    this.#stage = options.stage ?? (consumer.inbox.mode === 'stored' ? 'store' : 'whole')
    this.#size = new BatchSize(consumer.batch, this.#stage === 'work' ? 1 : consumer.batch.sizeMax)
    const isLive = (received: Received) => this.#line!.isLive(received)
    this.#intake = new Intake(consumer, source.capabilities, world.timers, received => {
      if (isLive(received)) this.#lanes.push(received)
      this.#pump()
    })
    const readAgain = ({ delivery }: Received) =>
      void this.#read([delivery]).then(
        () => this.#pump(),
        error => this.#halt(error),
      )
    this.#held = new HeldRetries(this.#lanes, world.timers, isLive, readAgain, () => this.#pump())
    this.#watch = new StoreWatch(
      store,
      world,
      consumer.name,
      () => this.#state === 'new' || this.#state === 'running',
    )
    this.#shared = options.shared ?? createPair(consumer, world)
    this.#breaker = this.#shared.breaker
    this.#done.promise.catch(() => {})
  }

  get state(): ConsumerState {
    return this.#state
  }

  /** True from when the source lost its broker until it is connected again. */
  get sourceAway(): boolean {
    return this.#sourceAway
  }

  /** Nothing has come for a while although something waits; null while deliveries come, or while this process takes none. */
  get stalled(): Stall | null {
    const waits = this.#state === 'running' && this.#receiving
    return waits ? (this.#subscription?.stalled?.() ?? null) : null
  }

  /** Parts of the source that failed and are tried again, one sentence each. */
  get degraded(): readonly string[] {
    return [...this.#degraded].map(([part, reason]) => `${part} fails and is tried again: ${reason}`)
  }

  /** Counts since start, for status views. */
  get tally(): TallySnapshot {
    return this.#tally.snapshot(
      this.#batchesInFlight,
      this.#held.size,
      this.#watch.away,
      this.#breaker.view.state,
    )
  }

  /** Everything that was read and is not settled, for whoever watches its age. */
  *unfinished(): Iterable<Received> {
    yield* this.#lanes.waiting()
    yield* this.#held.waiting()
    if (this.#line !== null) yield* this.#line.underWay()
  }

  /** Resolves when stopped, rejects when halted. */
  get finished(): Promise<void> {
    return this.#done.promise
  }

  async start(): Promise<void> {
    const { consumer, source, store, world, instance, mode = 'live' } = this.#options
    if (this.#stage !== 'work') assertKeepable(consumer, source, store)
    const enrolment = await store.enroll(consumerFacts(consumer, mode, instance, this.#options.addressing))
    this.#enrolment = enrolment
    const subscription = await this.#look(enrolment)
      .then(() => this.#open(enrolment))
      .then(opened => this.#assertNew(opened))
      .then(opened => this.#claimPlace(opened, enrolment))
      .catch(async error => {
        this.#suspicion?.stop()
        // Else it would look like one that died.
        await store.closeRun(enrolment, this.#suspectedBecause).catch(() => {})
        throw error
      })
    this.#subscription = subscription
    this.#line = new BatchLine({
      consumer,
      store,
      enrolment,
      subscription,
      positions: source.capabilities.positions,
      mode,
      suppresses: this.#options.suppresses ?? mode !== 'live',
      stage: this.#stage,
      world,
      watch: this.#watch,
      tally: this.#tally,
      signal: this.#leaving.signal,
      ...this.#shared,
      onCommitted: decided => {
        this.#wary?.decided(decided)
        this.#learn(decided)
      },
      waits: () => this.#state === 'running',
      ...(this.#options.callInline && { callInline: this.#options.callInline }),
      ...(this.#options.handOver && { handOver: this.#options.handOver }),
      ...(this.#options.horizon && { horizon: this.#options.horizon }),
    })
    if (subscription.lag !== undefined) {
      this.#unwatch.push(world.metrics.watchLag(consumer.name, () => subscription.lag!()))
    }
    if (subscription.waitingPartitions !== undefined)
      this.#unwatch.push(
        world.metrics.watch(['waitingPartitions'], see =>
          see('waitingPartitions', subscription.waitingPartitions!(), { consumer: consumer.name }),
        ),
      )
    if (consumer.failure.breaker !== null)
      this.#unwatch.push(
        world.metrics.watch(['paused'], see =>
          see('paused', this.#breaker.view.state === 'closed' ? 0 : 1, { consumer: consumer.name }),
        ),
      )
    this.#state = 'running'
    world.log.info('consumer running', { consumer: consumer.name, source: source.name, mode })
    this.#pump()
  }

  /** Takes nothing new, finishes what is in a transaction, hands the rest back. Past the deadline it leaves at once. */
  async drain(deadlineMs = 30_000): Promise<void> {
    if (this.#state !== 'running') return this.#state === 'draining' ? this.#done.promise : undefined
    this.#state = 'draining'
    this.#options.world.log.info('consumer draining', { consumer: this.#options.consumer.name })
    this.#options.world.reach('drain.begun')
    const cancel = this.#options.world.timers.after(deadlineMs, () => this.leave())
    this.#closeIfIdle()
    await this.#done.promise.finally(cancel)
  }

  /** Aborts handlers and leaves without waiting: open transactions roll back, unsettled deliveries go back. */
  leave(): void {
    this.#leaving.abort(new OncewardError('consumer_halted', 'told to leave at once'))
    if (this.#state === 'running') this.#state = 'draining'
    void this.#close()
  }

  /** Who fell silent, before anything is taken. Where no handler runs, only reading kills. */
  async #look(enrolment: Enrolment): Promise<void> {
    const { store, world, consumer } = this.#options
    if (store.suspects === undefined) return
    this.#suspicion = new Suspicion({
      ledger: store.suspects,
      enrolment,
      world,
      leaseMs: consumer.inbox.leaseMs,
      isLive: delivery => this.#subscription?.isLive(delivery) ?? true,
      onRefused: error => this.#halt(error),
      onLifted: () => this.#pump(),
    })
    const reading = { consumer, suspicion: this.#suspicion, store, enrolment, watch: this.#watch, world }
    this.#wary = new WaryReading({ ...reading, readsOnly: this.#stage === 'store' })
    if (this.#stage !== 'store') {
      const { attemptsMax } = consumer.failure
      const [suspicion, lanes, watch] = [this.#suspicion, this.#lanes, this.#watch]
      const common = { suspicion, store, enrolment, watch, world, lanes, attemptsMax }
      this.#suspects = new SuspectLine({ ...common, bytesMax: batchBytesMax })
    }
    await this.#suspicion.begin()
  }

  async #open(enrolment: Enrolment): Promise<Subscription> {
    const { consumer, source, store, world, addressing } = this.#options
    await consumer.effect?.apply?.verify(store.query!, { consumer, world })
    return source.open({
      inFlightMax: consumer.batch.deliveriesMax,
      inFlightBytesMax: consumer.batch.bytesMax,
      onEvent: event => this.#onSourceEvent(event),
      ...(store.meetBroker && {
        onBroker: broker =>
          this.#watch.persist(async () => {
            await store.meetBroker!(broker)
            await addressing?.confirm(broker)
          }),
      }),
      log: {
        consumer: { name: consumer.name, generation: consumer.generation },
        progress: progressOf(consumer),
        ordersKeys: consumer.order === 'key',
        checkpoints: checkpointsOf(store, enrolment, this.#watch, this.#suspicion, world.reach),
        onRevoke: partitions => this.#revoke(partitions),
        onTold: told =>
          world.metrics.add('positionCommits', 1, {
            consumer: consumer.name,
            status: told ? 'success' : 'failure',
          }),
      },
      enrolment,
    })
  }

  /** A source may take long to open; what halted or was told to leave meanwhile does not begin to work. */
  async #assertNew(opened: Subscription): Promise<Subscription> {
    if (this.#state === 'new') return opened
    await opened.close()
    throw this.#leaving.signal.reason
  }

  /** The broker was reached: this name reads there from now on. A worker reads what is stored, which claims nothing. */
  async #claimPlace(opened: Subscription, enrolment: Enrolment): Promise<Subscription> {
    if (this.#stage === 'work') return opened
    try {
      await this.#watch.persist(async () => this.#options.store.noteReading?.(enrolment))
      return opened
    } catch (error) {
      await opened.close()
      throw error
    }
  }

  #pump(): void {
    if (this.#state !== 'running') return this.#closeIfIdle()
    const { room } = this.#breaker
    const closed = room === Number.POSITIVE_INFINITY
    let alone = (this.#suspects?.busy ?? false) || this.#readingAlone > 0
    if (!closed) this.#probe(room)
    else
      while (!alone && this.#batchesInFlight < this.#inFlightMax && this.#worthStarting()) {
        const suspects = this.#suspects?.next(this.#batchesInFlight, this.#size.now) ?? null
        alone = suspects !== null
        if (suspects !== 'wait') this.#begin(suspects)
      }
    // What comes back for another try does not count: it would keep everybody else out for as long as it fails.
    const ahead = this.#lanes.untried < this.#size.now
    const mayReceive = ahead || (closed && !alone && this.#batchesInFlight < this.#inFlightMax)
    if (mayReceive && !this.#receiving) void this.#receive()
  }

  get #inFlightMax(): number {
    return this.#options.consumer.batch.inFlightMax
  }

  /** Slots that are kept free for suspects are no reason to read ahead. */
  #begin(suspects: readonly Received<M>[] | null, countMax = this.#size.now): void {
    this.#batchesInFlight++
    if (suspects !== null) return void this.#runSuspects(suspects)
    const stops = this.#suspects?.any ? this.#suspects.isSuspect : undefined
    void this.#runBatch(this.#lanes.cut(countMax, batchBytesMax, stops) as Received<M>[])
  }

  /** The downstream is away: after the pause one message at a time is tried, each time another one, until one gets through. */
  #probe(room: number): void {
    if (room > 0) {
      if (this.#batchesInFlight > 0 || this.#lanes.ready === 0 || this.#readingAlone > 0) return
      const suspects = this.#suspects?.next(0, 1) ?? null
      if (suspects !== 'wait') this.#begin(suspects, 1)
      return
    }
    this.#cancelProbe()
    this.#cancelProbe = this.#options.world.timers.after(Math.max(1, this.#breaker.waitMs), () =>
      this.#pump(),
    )
  }

  #cancelProbe: () => void = () => {}

  #learn(decided: readonly Decided<M>[]): void {
    const event = this.#breaker.learn(decided, firstTries(this.#options.consumer, this.#stage))
    if (event === null) return
    const { world, consumer, onOutage } = this.#options
    reportOutage(event, this.#breaker, consumer, world)
    if (event !== 'still away') onOutage?.(this.#enrolment!, event === 'closed' ? null : this.#breaker.view)
  }

  /**
   * With nothing in flight anything is worth a transaction; beside one, only a full batch is: the rest grows until the
   * other ends. Starting the second with whatever was there made 93–134 batches where 80 would do. Held work is claimed in full batches
   * where there is enough of it, and may be slow: nothing of it waits for another.
   */
  #worthStarting(): boolean {
    if (this.#stage === 'work') return this.#lanes.ready > 0
    const working = this.#batchesInFlight - this.#line!.paused
    return this.#lanes.ready >= (working === 0 ? 1 : this.#size.now)
  }

  async #receive(): Promise<void> {
    this.#receiving = true
    try {
      const deliveries = await this.#subscription!.receive(this.#size.now)
      await this.#take(deliveries)
    } catch (error) {
      this.#halt(error)
    } finally {
      this.#receiving = false
    }
    this.#pump()
  }

  async #take(deliveries: readonly Delivery[]): Promise<void> {
    if (deliveries.length === 0) return
    const { world } = this.#options
    const redelivered = deliveries.reduce((count, delivery) => count + (delivery.redelivered ? 1 : 0), 0)
    this.#countTaken(deliveries, redelivered)
    this.#tally.delivered(deliveries.length, redelivered)
    this.#suspicion?.look(deliveries)
    await this.#read(deliveries)
    world.reach('batch.received')
  }

  #countTaken(deliveries: readonly Delivery[], redelivered: number): void {
    const { consumer, world } = this.#options
    const { name } = consumer
    if (this.#stage === 'work') return world.metrics.add('claims', deliveries.length, { consumer: name })
    world.metrics.add('deliveries', deliveries.length, {
      consumer: name,
      'messaging.system': messagingSystem(consumer.source.kind),
      'messaging.destination.name': deliveries[0]!.origin,
    })
    if (redelivered > 0) world.metrics.add('redelivered', redelivered, { consumer: name })
  }

  async #read(deliveries: readonly Delivery[]): Promise<void> {
    const wary = this.#wary !== null && deliveries.some(delivery => this.#wary!.suspects(delivery))
    if (wary) this.#readingAlone++
    try {
      if (wary && this.#batchesInFlight > 0) await new Promise<void>(resolve => this.#onIdle.push(resolve))
      const read = await this.#intake.take(deliveries, this.#wary)
      if (this.#suspicion?.any) await this.#suspects?.learn(read)
      for (const received of read) this.#lanes.push(received)
    } finally {
      if (wary) this.#readingAlone--
    }
  }

  #leaveSlots(count: number): void {
    this.#batchesInFlight -= count
    if (this.#batchesInFlight > 0) return
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  async #runSuspects(group: readonly Received<M>[]): Promise<void> {
    try {
      await this.#suspects!.run(group, (suspect, onDecided) => this.#runBatch(group, suspect, onDecided))
    } catch (error) {
      this.#leaveSlots(1)
      if (this.#state === 'running') this.#halt(error)
    }
    this.#pump()
  }

  async #runBatch(
    batch: readonly Received<M>[],
    suspect?: SuspectTry,
    onDecided: (decided: readonly Decided<M>[]) => void = () => {},
  ): Promise<readonly Decided<M>[]> {
    const { world } = this.#options
    let ended: readonly Decided<M>[] = []
    const began = world.clock.nowMs()
    let inFlight = 1
    const leaveSlot = () => {
      this.#leaveSlots(inFlight)
      inFlight = 0
    }
    try {
      const onBatchDecided = (decided: readonly Decided<M>[]) => {
        this.#options.onCommitted?.()
        ended = decided
        onDecided(decided)
        this.#size.took(batch.length, world.clock.nowMs() - began, suspect !== undefined)
        if (this.#stage !== 'work') this.#held.hold(decided)
        this.#lanes.release(batch)
        leaveSlot()
        this.#pump()
      }
      await this.#line!.run(batch, onBatchDecided, suspect)
    } catch (error) {
      // While stopping, a batch that cannot be finished simply stays unsettled and goes back.
      const givenUp =
        this.#leaving.signal.aborted || (error instanceof StorePaused && this.#state !== 'running')
      if (!givenUp) this.#halt(error)
    } finally {
      leaveSlot()
    }
    this.#pump()
    return ended
  }

  /** Partitions of a log are going: forgets what no batch has taken, and waits for the batches that have some of them. */
  async #revoke(partitions: readonly string[]): Promise<void> {
    const going = new Set(partitions)
    const goes = ({ delivery }: Received) => going.has(delivery.partition)
    this.#lanes.forget(goes)
    await this.#line?.without(goes)
  }

  #onSourceEvent(event: SourceEvent): void {
    const { world, consumer, source } = this.#options
    if (event.kind === 'connected') {
      this.#sourceAway = false
      this.#degraded.clear()
    }
    if (event.kind === 'degraded') this.#degraded.set(event.part, event.reason)
    if (event.kind === 'restored') this.#degraded.delete(event.part)
    if (endsConnection(event)) this.#sourceAway = true
    world.metrics.add('sourceEvents', 1, { consumer: consumer.name, kind: event.kind })
    const fields = { consumer: consumer.name, source: source.name, ...event }
    world.log[isNews(event) ? 'info' : 'warn'](`source ${event.kind}`, fields)
    // Not from within: the source may be in the middle of opening.
    if (event.kind === 'ended') world.timers.soon(() => void this.drain().catch(() => {}))
  }

  #halt(error: unknown): void {
    if (this.#state === 'stopped' || this.#state === 'halted') return
    const { world, consumer } = this.#options
    this.#state = 'halted'
    if (mayBeOfMessage(error)) this.#suspectedBecause = errorCode(error)
    world.log.error('consumer halted, nothing settled', {
      consumer: consumer.name,
      error: errorText(error, 4_000),
    })
    this.#leaving.abort(error)
    void this.#close().then(() => this.#done.reject(error))
  }

  #closeIfIdle(): void {
    if (this.#state === 'draining' && !this.#suspects?.busy && (this.#line?.idle ?? true)) void this.#close()
  }

  #closing: Promise<void> | null = null
  /** Halted, and what is in hand may be why. */
  #suspectedBecause: string | undefined
  readonly #unwatch: (() => void)[] = []

  #close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#intake.stop()
      this.#held.cancelAll()
      this.#suspicion?.stop()
      this.#cancelProbe()
      for (const unwatch of this.#unwatch) unwatch()
      await this.#subscription?.close()
      await this.#closeRun()
      if (this.#state === 'halted') return
      this.#state = 'stopped'
      this.#options.world.log.info('consumer stopped', { consumer: this.#options.consumer.name })
      this.#done.resolve()
    })()
    return this.#closing
  }

  /** A database that does not answer keeps nobody who halted: the run is then silent instead of ended. */
  async #closeRun(): Promise<void> {
    if (this.#enrolment === null) return
    const { store, world } = this.#options
    const closed = store.closeRun(this.#enrolment, this.#suspectedBecause).catch(() => {})
    if (this.#state !== 'halted') return closed
    const late = Promise.withResolvers<void>()
    const cancel = world.timers.after(closeRunMs, late.resolve)
    await Promise.race([closed, late.promise]).finally(cancel)
  }
}

/** How long a consumer that halts waits for its end to be recorded. */
const closeRunMs = 5_000
function endsConnection({ kind }: SourceEvent): boolean {
  return kind === 'disconnected' || kind === 'cancelled' || kind === 'timed_out'
}

/** What happens whenever a consumer starts or its group changes; the rest is trouble. */
function isNews(event: SourceEvent): boolean {
  if (event.kind === 'revoked') return event.orderly === true
  return ['connected', 'ended', 'assigned', 'restored'].includes(event.kind)
}

/** Bytes of bodies in one transaction at most; a single larger message still gets its own. */
const batchBytesMax = 8 * 1024 * 1024
