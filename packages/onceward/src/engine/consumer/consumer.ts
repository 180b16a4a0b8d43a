import type { Consumer } from '../../contract/define-consumer.ts'
import type { Mode } from '../../contract/handler.ts'
import type { Environment } from '../../environment.ts'
import { errorCode, errorText, OncewardError } from '../../errors.ts'
import type { Received } from '../../message/received.ts'
import type { Enrolment } from '../../ports/enrolment.ts'
import type { PartitionLag, Source, SourceEvent, Stall, Subscription } from '../../ports/source.ts'
import type { Store } from '../../ports/store.ts'
import type { InlineCall } from '../batch/buffer-effects.ts'
import { type HorizonCheck, HorizonGuard } from '../batch/horizon-guard.ts'
import type { LocalHandoff } from '../batch/local-handoff.ts'
import { SavepointPolicy } from '../batch/savepoint-policy.ts'
import type { ConsumerContext, Stage } from '../consumer-context.ts'
import { CrashSuspects } from '../crash-suspects/crash-suspects.ts'
import type { BreakerView } from '../retry/breaker.ts'
import { mayBeOfMessage } from '../retry/halt-cause.ts'
import { assertKeepable } from './assert-keepable.ts'
import { BatchScheduler } from './batch-scheduler.ts'
import { BrakeWatch } from './brake-watch.ts'
import { checkpointsOf, progressOf } from './checkpoints.ts'
import { type Addressing, consumerFacts } from './consumer-facts.ts'
import { createSharedLimits, type SharedLimits } from './shared-limits.ts'
import { SourceStatus } from './source-status.ts'
import { StoreWatch } from './store-watch.ts'
import { Tally, type TallySnapshot } from './tally.ts'
import { watchSource } from './watch-source.ts'

export interface ConsumerOptions<M, Tx> {
  readonly consumer: Consumer<M, Tx>
  readonly source: Source
  readonly store: Store<Tx>
  readonly env: Environment
  readonly mode?: Mode
  /** External effects and messages are suppressed. Default: in every mode but `live`. */
  readonly suppresses?: boolean
  /** Default: as `inbox.mode` of the contract. `work` for a worker of stored messages. */
  readonly stage?: Stage
  /** Names this process in the runs table. */
  readonly instance: string
  /** Called after every batch, so that a dispatcher or relay can start at once. */
  readonly onBatchDecided?: () => void
  /** Makes the calls of `effects.call`; without it they are refused. */
  readonly callInline?: InlineCall
  /** For stage `enqueue`: the worker in this process. */
  readonly localHandoff?: LocalHandoff
  /**
   * Default in modes `live` and `replay`: messages older than the remaining markers are parked, or treated as
   * the contract says.
   */
  readonly horizon?: HorizonCheck
  /** Shared by a consumer and the worker beside it. Default: its own. */
  readonly shared?: SharedLimits
  /** The destinations of its messages. Default: the only destination of each kind of broker. */
  readonly addressing?: Addressing
  /** Called when a dependency becomes unavailable, and with null when it is available again. */
  readonly onOutage?: (enrolment: Enrolment, outage: BreakerView | null) => void
}

/** Where a consumer is in its life, from its start to its end. */
export type ConsumerState = 'new' | 'running' | 'draining' | 'stopped' | 'halted'

/** How long a halting consumer waits until the end of its run is recorded. */
const closeRunMs = 5_000

/**
 * The lifecycle of one consumer; `BatchScheduler` does its work:
 *
 *   new ──start──▶ running ──drain──▶ draining ──▶ stopped
 *                     └── configuration error, broken invariant ──▶ halted (nothing settled)
 */
export class ConsumerProcess<M, Tx> {
  readonly #options: ConsumerOptions<M, Tx>
  readonly #stage: Stage
  readonly #tally = new Tally()
  readonly #leaving = new AbortController()
  readonly #done = Promise.withResolvers<void>()
  readonly #watch: StoreWatch<Tx>
  readonly #shared: SharedLimits
  readonly #sourceStatus: SourceStatus
  #state: ConsumerState = 'new'
  #sourceEnded = false
  #enrolment: Enrolment | null = null
  #subscription: Subscription | null = null
  #scheduler: BatchScheduler<M, Tx> | null = null
  #crashSuspects: CrashSuspects | null = null
  #brakeWatch: BrakeWatch | null = null
  /** The code of the halt, if a message in flight may be its cause. */
  #suspectedBecause: string | undefined
  #unwatch: readonly (() => void)[] = []
  #closing: Promise<void> | null = null

  constructor(options: ConsumerOptions<M, Tx>) {
    this.#options = options
    const { source, store, env, consumer } = options
    this.#stage = options.stage ?? (consumer.inbox.mode === 'stored' ? 'enqueue' : 'inline')
    const waits = () => this.#state === 'new' || this.#state === 'running'
    this.#watch = new StoreWatch(store, env, consumer.name, waits)
    this.#shared = options.shared ?? createSharedLimits(consumer, env)
    this.#sourceStatus = new SourceStatus(consumer.name, source.name, env)
    this.#done.promise.catch(() => {})
  }

  get state(): ConsumerState {
    return this.#state
  }

  /** True from the loss of the broker until the source is connected again. */
  get sourceDisconnected(): boolean {
    return this.#sourceStatus.disconnected
  }

  /** Parts of the source that failed and are being retried, one sentence each. */
  get degraded(): readonly string[] {
    return this.#sourceStatus.degraded
  }

  /**
   * The stall, if no delivery has arrived for a while although messages wait; null while deliveries arrive,
   * or while this process receives none.
   */
  get stalled(): Stall | null {
    const waits = this.#state === 'running' && this.#scheduler!.receiving
    return waits ? (this.#subscription?.stalled?.() ?? null) : null
  }

  /** Counts since the start, for status views. */
  get tally(): TallySnapshot {
    return this.#tally.snapshot(
      this.#scheduler?.batchesInFlight ?? 0,
      this.#scheduler?.pendingRetries ?? 0,
      this.#watch.unavailable,
      (this.#scheduler?.pause ?? this.#shared.breaker.view).state,
    )
  }

  /** The run of this process; null until it is enrolled. */
  get enrolment(): Enrolment | null {
    return this.#enrolment
  }

  /** What waits at the source, by partition; empty for a source that does not know. */
  get lag(): readonly PartitionLag[] {
    return this.#state === 'running' ? (this.#subscription?.lag?.() ?? []) : []
  }

  /** Every message that was read and is not settled, for gauges of its age. */
  unfinished(): Iterable<Received> {
    return this.#scheduler?.unfinished() ?? []
  }

  /** Resolves when stopped, rejects when halted. */
  get finished(): Promise<void> {
    return this.#done.promise
  }

  async start(): Promise<void> {
    const { consumer, source, store, env, instance, mode = 'live' } = this.#options
    if (this.#stage !== 'work') assertKeepable(consumer, source, store)
    const enrolment = await store.enroll(consumerFacts(consumer, mode, instance, this.#options.addressing))
    this.#enrolment = enrolment
    const subscription = await this.#open(enrolment).catch(async error => {
      this.#crashSuspects?.stop()
      // Otherwise the run would look like a crash.
      await store.closeRun(enrolment, this.#suspectedBecause).catch(() => {})
      throw error
    })
    this.#subscription = subscription
    const context = this.#contextOf(enrolment, subscription)
    this.#scheduler = new BatchScheduler(context, {
      capabilities: source.capabilities,
      watch: this.#watch,
      tally: this.#tally,
      crashSuspects: this.#crashSuspects,
      isRunning: () => this.#state === 'running',
      onBatchDecided: () => this.#options.onBatchDecided?.(),
      onIdle: () => this.#closeIfIdle(),
      onError: error => this.#halt(error),
      onOutage: outage => this.#options.onOutage?.(enrolment, outage),
      onBrake: events => this.#brakeWatch?.learned(events),
    })
    this.#unwatch = [...watchSource(context), () => this.#brakeWatch?.stop()]
    this.#state = 'running'
    env.log.info('consumer running', { consumer: consumer.name, source: source.name, mode })
    this.#scheduler.pump()
    this.#drainIfEnded()
  }

  /**
   * Receives nothing new, finishes batches in a transaction, and returns the rest to the broker. After the
   * deadline it stops at once.
   */
  async drain(deadlineMs = 25_000): Promise<void> {
    if (this.#state !== 'running') return this.#state === 'draining' ? this.#done.promise : undefined
    this.#state = 'draining'
    this.#options.env.log.info('consumer draining', { consumer: this.#options.consumer.name })
    this.#options.env.reach('drain.begun')
    const cancel = this.#options.env.timers.after(deadlineMs, () => this.leave())
    this.#closeIfIdle()
    await this.#done.promise.finally(cancel)
  }

  /**
   * Aborts handlers and stops without waiting: open transactions roll back, unsettled deliveries are
   * returned.
   */
  leave(): void {
    this.#leaving.abort(new OncewardError('consumer_halted', 'The consumer was stopped at once.'))
    if (this.#state === 'running') this.#state = 'draining'
    void this.#close()
  }

  #contextOf(enrolment: Enrolment, subscription: Subscription): ConsumerContext<M, Tx> {
    const { consumer, source, store, env, mode = 'live', callInline, localHandoff } = this.#options
    const timing = source.capabilities.positions ? 'commit' : 'batch'
    const remembers = ['live', 'replay'].includes(mode) && consumer.dedup === 'marker'
    const horizon = this.#options.horizon ?? (remembers && new HorizonGuard(consumer as never, env))
    return {
      consumer,
      store,
      enrolment,
      subscription,
      mode,
      suppresses: this.#options.suppresses ?? mode !== 'live',
      stage: this.#stage,
      env,
      signal: this.#leaving.signal,
      settleTiming: consumer.settle.when === 'before effect' ? 'first' : timing,
      savepoints: new SavepointPolicy(),
      ...this.#shared,
      ...(horizon && { horizon }),
      ...(callInline && { callInline }),
      ...(localHandoff && { localHandoff }),
    }
  }

  /**
   * Finds silent runs, then opens the source, then registers as its reader: all before the first delivery.
   */
  async #open(enrolment: Enrolment): Promise<Subscription> {
    await this.#findSuspects(enrolment)
    await this.#findBrakes(enrolment)
    const opened = await this.#openSource(enrolment)
    try {
      // A source may take long to open. A consumer that halted or was stopped meanwhile does not start.
      if (this.#state !== 'new') throw this.#leaving.signal.reason
      // The broker was reached, so this consumer is now its reader. A worker reads stored rows and registers
      // nothing.
      if (this.#stage !== 'work')
        await this.#watch.persist(async () => this.#options.store.registry?.registerReader(enrolment))
      return opened
    } catch (error) {
      await opened.close()
      throw error
    }
  }

  async #findSuspects(enrolment: Enrolment): Promise<void> {
    const { store, env, consumer } = this.#options
    if (store.suspects === undefined) return
    this.#crashSuspects = new CrashSuspects({
      suspects: store.suspects,
      enrolment,
      env,
      leaseMs: consumer.inbox.leaseMs,
      isLive: delivery => this.#subscription?.isLive(delivery) ?? true,
      onRefused: error => this.#halt(error),
      onSuspectsCleared: () => this.#scheduler?.pump(),
    })
    await this.#crashSuspects.begin()
  }

  async #findBrakes(enrolment: Enrolment): Promise<void> {
    const { consumer, store, env, mode = 'live' } = this.#options
    if (consumer.failure.brake === null || this.#stage === 'enqueue') return
    const ledger = mode === 'live' ? (store.brakes ?? null) : null
    const onReleased = () => this.#scheduler?.resumeBraked()
    const watch = new BrakeWatch(this.#shared.brakes, ledger, enrolment, env, onReleased)
    this.#brakeWatch = watch
    if (ledger !== null) await this.#watch.persist(() => watch.begin())
  }

  async #openSource(enrolment: Enrolment): Promise<Subscription> {
    const { consumer, source, store, env, addressing } = this.#options
    await consumer.effect?.apply?.verify(store.sql!.query, { consumer, env })
    return source.open({
      inFlightMax: consumer.batch.deliveriesMax,
      inFlightBytesMax: consumer.batch.bytesMax,
      onEvent: event => this.#onSourceEvent(event),
      ...(store.registry && {
        onBroker: broker =>
          this.#watch.persist(async () => {
            await store.registry!.registerBroker(broker)
            await addressing?.confirm(broker)
          }),
      }),
      log: {
        consumer: { name: consumer.name, generation: consumer.generation },
        progress: progressOf(consumer),
        ordersKeys: consumer.order === 'key',
        checkpoints: checkpointsOf(store, enrolment, this.#watch, this.#crashSuspects, env.reach),
        onRevoke: async partitions => this.#scheduler?.revoke(partitions),
        onPositionCommit: succeeded =>
          env.metrics.add('positionCommits', 1, {
            consumer: consumer.name,
            status: succeeded ? 'success' : 'failure',
          }),
      },
      enrolment,
    })
  }

  #onSourceEvent(event: SourceEvent): void {
    this.#sourceStatus.record(event)
    if (event.kind !== 'ended') return
    this.#sourceEnded = true
    this.#options.env.timers.soon(() => this.#drainIfEnded())
  }

  /** A source may reach its end before the consumer is registered as its reader, and says so only once. */
  #drainIfEnded(): void {
    if (this.#sourceEnded && this.#state === 'running') void this.drain().catch(() => {})
  }

  #halt(error: unknown): void {
    if (this.#state === 'stopped' || this.#state === 'halted') return
    const { env, consumer } = this.#options
    this.#state = 'halted'
    if (mayBeOfMessage(error)) this.#suspectedBecause = errorCode(error)
    env.log.error('consumer halted, nothing settled', {
      consumer: consumer.name,
      error: errorText(error, 4_000),
    })
    this.#leaving.abort(error)
    void this.#close().then(() => this.#done.reject(error))
  }

  #closeIfIdle(): void {
    if (this.#state === 'draining' && (this.#scheduler?.idle ?? true)) void this.#close()
  }

  #close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#scheduler?.stop()
      this.#crashSuspects?.stop()
      for (const unwatch of this.#unwatch) unwatch()
      await this.#subscription?.close()
      await this.#closeRun()
      if (this.#state === 'halted') return
      this.#state = 'stopped'
      this.#options.env.log.info('consumer stopped', { consumer: this.#options.consumer.name })
      this.#done.resolve()
    })()
    return this.#closing
  }

  /**
   * A halted consumer does not wait long for an unresponsive database. Its run then ends silent instead of
   * closed.
   */
  async #closeRun(): Promise<void> {
    if (this.#enrolment === null) return
    const { store, env } = this.#options
    const closed = store.closeRun(this.#enrolment, this.#suspectedBecause).catch(() => {})
    if (this.#state !== 'halted') return closed
    const late = Promise.withResolvers<void>()
    const cancel = env.timers.after(closeRunMs, late.resolve)
    await Promise.race([closed, late.promise]).finally(cancel)
  }
}
