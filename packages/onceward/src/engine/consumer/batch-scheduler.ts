import type { Received } from '../../message/received.ts'
import type { SourceCapabilities } from '../../ports/capabilities.ts'
import { messagingSystem } from '../../ports/messaging-system.ts'
import type { Delivery } from '../../ports/source.ts'
import type { Decided } from '../batch/batch-attempt.ts'
import { BatchRunner } from '../batch/batch-runner.ts'
import { StorePaused } from '../batch/recover-attempt.ts'
import { type ConsumerContext, firstTries } from '../consumer-context.ts'
import type { CrashSuspects } from '../crash-suspects/crash-suspects.ts'
import { SuspectReader } from '../crash-suspects/suspect-reader.ts'
import { SuspectRunner, type SuspectTry } from '../crash-suspects/suspect-runner.ts'
import type { BrakeEvent } from '../retry/brakes.ts'
import type { BreakerEvent, BreakerView } from '../retry/breaker.ts'
import { PendingRetries } from '../retry/pending-retries.ts'
import { eventTypeReader } from '../settle/event-type.ts'
import { MessageGroups } from '../settle/message-counts.ts'
import { BatchSize } from './batch-size.ts'
import { Intake } from './intake.ts'
import { Lanes } from './lanes.ts'
import { RegistryWait } from './registry-wait.ts'
import { type OutageFacts, reportOutage } from './report-outage.ts'
import type { StoreWatch } from './store-watch.ts'
import type { Tally } from './tally.ts'

/** Most bytes of message bodies in one transaction; a larger message gets its own. */
const batchBytesMax = 8 * 1024 * 1024

export interface SchedulerOptions<Tx> {
  readonly capabilities: SourceCapabilities
  readonly watch: StoreWatch<Tx>
  readonly tally: Tally
  /** Null for stores that end with their process. */
  readonly crashSuspects: CrashSuspects | null
  /** False while the consumer drains, and after it has stopped or halted: nothing new is received. */
  readonly isRunning: () => boolean
  /** Called after every batch. */
  readonly onBatchDecided: () => void
  /** Called when the last batch of a consumer that no longer runs may have ended. */
  readonly onIdle: () => void
  readonly onError: (error: unknown) => void
  /** Called when a dependency becomes unavailable, and with null when it is available again. */
  readonly onOutage: (outage: BreakerView | null) => void
  /** Called when event types are paused or released, and after every commit while one may be paused. */
  readonly onBrake: (events: readonly BrakeEvent[]) => void
}

/**
 * Decides when to receive and when a batch starts. One receive is outstanding whenever a batch slot is free.
 * Messages that have arrived meanwhile are the next batch, so batches grow with load and no timer forms them.
 * A batch keeps its slot until it is decided and settled, also while the store is unavailable. With all slots
 * taken, only one batch is read ahead, so that it can start as soon as a slot is free. Reading it only then
 * would leave the server idle meanwhile.
 */
export class BatchScheduler<M, Tx> {
  readonly #context: ConsumerContext<M, Tx>
  readonly #options: SchedulerOptions<Tx>
  readonly #lanes = new Lanes()
  readonly #intake: Intake<M>
  readonly #registry: RegistryWait
  readonly #size: BatchSize
  readonly #retries: PendingRetries
  readonly #runner: BatchRunner<M, Tx>
  readonly #suspects: SuspectRunner<M, Tx> | null
  readonly #suspectReader: SuspectReader<M, Tx> | null
  readonly #typeOf: ReturnType<typeof eventTypeReader<M, Tx>>
  #receiving = false
  #batchesInFlight = 0
  /**
   * Calls that read suspects, each with an attempt on record. If a handler crashed the process now, one of
   * the suspects would be blamed.
   */
  #readingAlone = 0
  #onNoBatch: (() => void)[] = []
  #cancelProbe: () => void = () => {}

  constructor(context: ConsumerContext<M, Tx>, options: SchedulerOptions<Tx>) {
    const { consumer, stage, env } = context
    const { capabilities, watch, tally, isRunning } = options
    this.#context = context
    this.#options = options
    this.#typeOf = eventTypeReader(consumer)
    this.#size = new BatchSize(consumer.batch, stage === 'work' ? 1 : consumer.batch.sizeMax)
    this.#runner = new BatchRunner(context, {
      watch,
      tally,
      waitsForStore: isRunning,
      onCommitted: decided => {
        this.#suspectReader?.decided(decided)
        this.#learnOutage(decided)
        const events = context.brakes.learn(decided)
        if (events.length > 0 || context.brakes.isAlert) options.onBrake(events)
      },
    })
    const isLive = (received: Received) => this.#runner.isLive(received)
    this.#registry = new RegistryWait(consumer.failure, env.timers, env.clock, event =>
      this.#reportOutage(event, this.#registry),
    )
    this.#intake = new Intake(consumer, capabilities, env.timers, this.#registry, received => {
      if (isLive(received)) this.#lanes.push(received)
      this.pump()
    })
    const readAgain = ({ delivery }: Received) =>
      void this.#read([delivery]).then(() => this.pump(), options.onError)
    this.#retries = new PendingRetries(this.#lanes, env.timers, isLive, readAgain, () => this.pump())
    this.#suspectReader = this.#newSuspectReader()
    this.#suspects = this.#newSuspectRunner()
  }

  /** True while no batch is in progress and no suspect is tried. */
  get idle(): boolean {
    return !this.#suspects?.busy && this.#runner.idle
  }

  get receiving(): boolean {
    return this.#receiving && !this.#registry.unavailable
  }

  /** The pause of the source: for a dependency of the handlers, or for a registry. */
  get pause(): BreakerView {
    const { view } = this.#context.breaker
    return view.state === 'closed' ? this.#registry.view : view
  }

  get batchesInFlight(): number {
    return this.#batchesInFlight
  }

  /** Deliveries that wait in memory for their next attempt. */
  get pendingRetries(): number {
    return this.#retries.size
  }

  /** Every message that was read and is not settled. */
  *unfinished(): Iterable<Received> {
    yield* this.#lanes.waiting()
    yield* this.#retries.waiting()
    yield* this.#runner.inProgress()
  }

  /**
   * Called when partitions of a log are revoked. Drops their messages that are in no batch, and waits for the
   * batches that contain others.
   */
  async revoke(partitions: readonly string[]): Promise<void> {
    const revoked = new Set(partitions)
    const isRevoked = ({ delivery }: Received) => revoked.has(delivery.partition)
    this.#lanes.forget(isRevoked)
    await this.#runner.without(isRevoked)
  }

  /** Called when a paused event type may continue. */
  resumeBraked(): void {
    this.#retries.resumeBraked()
  }

  stop(): void {
    this.#intake.stop()
    this.#retries.cancelAll()
    this.#cancelProbe()
  }

  /** Starts every batch that is worth starting, then receives if there is room. Called after every change. */
  pump(): void {
    if (!this.#options.isRunning()) return this.#options.onIdle()
    const { room } = this.#context.breaker
    const closed = room === Number.POSITIVE_INFINITY
    let alone = (this.#suspects?.busy ?? false) || this.#readingAlone > 0
    if (!closed) this.#probe(room)
    else
      while (!alone && this.#batchesInFlight < this.#inFlightMax && this.#worthStarting()) {
        const suspects = this.#suspects?.next(this.#batchesInFlight, this.#size.now) ?? null
        alone = suspects !== null
        if (suspects !== 'wait') this.#begin(suspects)
      }
    // Retries do not count: they would keep new messages out for as long as they fail.
    const ahead = this.#lanes.untried < this.#size.now
    const mayReceive = ahead || (closed && !alone && this.#batchesInFlight < this.#inFlightMax)
    if (mayReceive && !this.#receiving && !this.#registry.unavailable) void this.#receive()
  }

  get #inFlightMax(): number {
    return this.#context.consumer.batch.inFlightMax
  }

  /**
   * With no batch in progress, any message is worth a transaction. Beside another batch only a full one is; a
   * smaller one grows until the other ends. Starting the second batch with any size made 93–134 batches where
   * 80 sufficed. Stored work arrives in full batches if there is enough of it, and may be slow: it starts at
   * once.
   */
  #worthStarting(): boolean {
    if (this.#context.stage === 'work') return this.#lanes.ready > 0
    const working = this.#batchesInFlight - this.#runner.paused
    return this.#lanes.ready >= (working === 0 ? 1 : this.#size.now)
  }

  /** Slots kept free for suspects are not used to read ahead. */
  #begin(suspects: readonly Received<M>[] | null, countMax = this.#size.now): void {
    this.#batchesInFlight++
    if (suspects !== null) return void this.#runSuspects(suspects)
    const stops = this.#suspects?.any ? this.#suspects.isSuspect : undefined
    void this.#runBatch(this.#cut(countMax, stops) as Received<M>[])
  }

  /** A message that the broker delivered too often is a batch of its own, if the contract says so. */
  #cut(countMax: number, stops: (received: Received) => boolean = () => false): readonly Received[] {
    const { redelivery } = this.#context
    if (!redelivery.isolatesSome) return this.#lanes.cut(countMax, batchBytesMax, stops)
    let found = false
    const alone = this.#lanes.cutGroup(received => {
      if (found || stops(received) || !redelivery.isolates(received)) return false
      found = true
      return true
    })
    if (found) return alone
    return this.#lanes.cut(
      countMax,
      batchBytesMax,
      received => stops(received) || redelivery.isolates(received),
    )
  }

  /**
   * A dependency is unavailable: after the pause, one message at a time is tried, a different one each time,
   * until one is applied.
   */
  #probe(room: number): void {
    if (room > 0) {
      if (this.#batchesInFlight > 0 || this.#lanes.ready === 0 || this.#readingAlone > 0) return
      const suspects = this.#suspects?.next(0, 1) ?? null
      if (suspects !== 'wait') this.#begin(suspects, 1)
      return
    }
    const { env, breaker } = this.#context
    this.#cancelProbe()
    this.#cancelProbe = env.timers.after(Math.max(1, breaker.waitMs), () => this.pump())
  }

  #learnOutage(decided: readonly Decided<M>[]): void {
    const { breaker } = this.#context
    const event = breaker.learn(decided, firstTries(this.#context))
    if (event !== null) this.#reportOutage(event, breaker)
  }

  #reportOutage(event: BreakerEvent, pause: OutageFacts): void {
    const { consumer, env } = this.#context
    reportOutage(event, pause, consumer, env)
    if (event !== 'still unavailable') this.#options.onOutage(event === 'closed' ? null : pause.view)
  }

  async #receive(): Promise<void> {
    this.#receiving = true
    try {
      const deliveries = await this.#context.subscription.receive(this.#size.now)
      await this.#take(deliveries)
    } catch (error) {
      this.#options.onError(error)
    } finally {
      this.#receiving = false
    }
    this.pump()
  }

  async #take(deliveries: readonly Delivery[]): Promise<void> {
    if (deliveries.length === 0) return
    const redelivered = deliveries.reduce((count, delivery) => count + (delivery.redelivered ? 1 : 0), 0)
    this.#countTaken(deliveries, redelivered)
    this.#options.tally.delivered(deliveries.length, redelivered)
    this.#options.crashSuspects?.arrived(deliveries)
    this.#countRead(deliveries, await this.#read(deliveries))
    this.#context.env.reach('batch.received')
  }

  #countTaken(deliveries: readonly Delivery[], redelivered: number): void {
    const { consumer, stage, env } = this.#context
    const labels = { consumer: consumer.name }
    if (stage === 'work') return env.metrics.add('leases', deliveries.length, labels)
    if (redelivered === 0) return
    env.metrics.add('redelivered', redelivered, labels)
    const { redelivery } = this.#context
    const often = deliveries.reduce((count, delivery) => count + (redelivery.isReached(delivery) ? 1 : 0), 0)
    if (often > 0) env.metrics.add('redeliveredOften', often, labels)
  }

  /** Types are known after reading. A message that is still being validated counts as type `other`. */
  #countRead(deliveries: readonly Delivery[], read: readonly Received<M>[]): void {
    const { consumer, stage, env } = this.#context
    if (stage === 'work') return
    const groups = new MessageGroups<M>(consumer.name, this.#typeOf)
    for (const received of read) groups.of(received)
    if (read.length < deliveries.length) {
      const known = new Set(read.map(({ delivery }) => delivery))
      for (const delivery of deliveries) if (!known.has(delivery)) groups.unread(delivery)
    }
    const system = messagingSystem(consumer.source.kind)
    for (const { labels, size } of groups)
      env.metrics.add('deliveries', size, { ...labels, 'messaging.system': system })
  }

  async #read(deliveries: readonly Delivery[]): Promise<readonly Received<M>[]> {
    const reader = this.#suspectReader
    const alone = reader !== null && deliveries.some(delivery => reader.suspects(delivery))
    if (alone) this.#readingAlone++
    try {
      if (alone && this.#batchesInFlight > 0)
        await new Promise<void>(resolve => this.#onNoBatch.push(resolve))
      const read = await this.#intake.take(deliveries, reader)
      if (this.#options.crashSuspects?.any) await this.#suspects?.learn(read)
      for (const received of read) this.#lanes.push(received)
      return read
    } finally {
      if (alone) this.#readingAlone--
    }
  }

  #leaveSlots(count: number): void {
    this.#batchesInFlight -= count
    if (this.#batchesInFlight > 0) return
    for (const resolve of this.#onNoBatch.splice(0)) resolve()
  }

  async #runSuspects(group: readonly Received<M>[]): Promise<void> {
    try {
      await this.#suspects!.run(group, (suspect, onDecided) => this.#runBatch(group, suspect, onDecided))
    } catch (error) {
      this.#leaveSlots(1)
      if (this.#options.isRunning()) this.#options.onError(error)
    }
    this.pump()
  }

  async #runBatch(
    batch: readonly Received<M>[],
    suspect: SuspectTry | null = null,
    onDecided: (decided: readonly Decided<M>[]) => void = () => {},
  ): Promise<readonly Decided<M>[]> {
    const { stage, env, signal } = this.#context
    let ended: readonly Decided<M>[] = []
    const began = env.clock.nowMs()
    let inFlight = 1
    const leaveSlot = () => {
      this.#leaveSlots(inFlight)
      inFlight = 0
    }
    try {
      const endBatch = (decided: readonly Decided<M>[]) => {
        this.#options.onBatchDecided()
        ended = decided
        onDecided(decided)
        this.#size.ended(batch.length, env.clock.nowMs() - began, suspect !== null)
        if (stage !== 'work') this.#retries.hold(decided)
        this.#lanes.release(batch)
        leaveSlot()
        this.pump()
      }
      await this.#runner.run(batch, endBatch, suspect)
    } catch (error) {
      // While the consumer stops, an unfinished batch stays unsettled, and the broker redelivers it.
      const givenUp = signal.aborted || (error instanceof StorePaused && !this.#options.isRunning())
      if (!givenUp) this.#options.onError(error)
    } finally {
      leaveSlot()
    }
    this.pump()
    return ended
  }

  #newSuspectReader(): SuspectReader<M, Tx> | null {
    const { consumer, store, enrolment, stage, env } = this.#context
    const { crashSuspects, watch } = this.#options
    if (crashSuspects === null) return null
    return new SuspectReader({
      consumer,
      crashSuspects,
      store,
      enrolment,
      watch,
      env,
      readsOnly: stage === 'enqueue',
    })
  }

  /** Without handlers, only reading can crash the process. */
  #newSuspectRunner(): SuspectRunner<M, Tx> | null {
    const { consumer, store, enrolment, stage, env } = this.#context
    const { crashSuspects, watch } = this.#options
    if (crashSuspects === null || stage === 'enqueue') return null
    const { attemptsMax } = consumer.failure
    const lanes = this.#lanes
    const common = { crashSuspects, store, enrolment, watch, env, lanes, attemptsMax }
    return new SuspectRunner({ ...common, bytesMax: batchBytesMax })
  }
}
