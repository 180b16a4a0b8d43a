import type { Consumer } from '../contract/define-consumer.ts'
import type { Mode, SqlTransaction } from '../contract/handler.ts'
import type { BrokerSecurity } from '../drivers/broker-security.ts'
import { assertUsable } from '../drivers/postgres/assert-usable.ts'
import { createPool, type OwnPool, type SqlPool } from '../drivers/postgres/pool.ts'
import { ServerIncarnation } from '../drivers/postgres/server-incarnation.ts'
import type { Prepare } from '../drivers/postgres/statements/prepare-policy.ts'
import { createPostgresStore } from '../drivers/postgres/store.ts'
import { releasedWork } from '../drivers/postgres/work/released-work.ts'
import { createDispatcher } from '../effects/external/dispatcher.ts'
import { createInlineCalls } from '../effects/external/inline-calls.ts'
import { reportOrphans } from '../effects/external/report-orphans.ts'
import { ConsumerProcess } from '../engine/consumer/consumer.ts'
import { createSharedLimits } from '../engine/consumer/shared-limits.ts'
import type { Environment } from '../environment.ts'
import { OncewardError } from '../errors.ts'
import { SchemaRelease } from '../operations/parking/schema-release.ts'
import type { Store } from '../ports/store.ts'
import { WorkerOnDemand } from '../work/worker-on-demand.ts'
import { prepareOf, withEnvironment } from './addresses.ts'
import { assertNothingLeft } from './assert-nothing-left.ts'
import { databaseTrouble } from './database-trouble.ts'
import { copiesInOutbox, openFormerLevels } from './former-levels.ts'
import { instanceName } from './instance-name.ts'
import { openOutgoing } from './open-outgoing.ts'
import type { Lifecycle, RelayHandle } from './open-relays.ts'
import { openRetention } from './open-retention.ts'
import { openBroker } from './open-source.ts'
import { type StartOptions, startPatiently } from './patient-start.ts'
import { reachServers } from './reach-servers.ts'
import { realEnvironment } from './real-environment.ts'
import { recordOutages } from './record-outage.ts'
import { type Health, type HealthWatch, watchConsumer } from './run-health.ts'
import { endPool, running } from './running.ts'
import { assertSameDatabase } from './same-database.ts'
import { FlowSampler } from './sample-flow.ts'
import { serversOf } from './servers-of.ts'

/** The parts of a consumer that may run in one process or in several. */
export type Part = 'consumer' | 'worker' | 'dispatcher' | 'relay' | 'retention'

/** The modes of a plain run. The others are campaigns, see `openReplay`. */
const runModes: readonly Mode[] = ['live', 'replay', 'rebuild']

/**
 * Missing addresses and the environment are read from the same variables as on the command line, such as
 * `ONCEWARD_RABBITMQ_URL`.
 */
export interface RunOptions extends StartOptions, BrokerSecurity {
  /** PostgreSQL with the Onceward schema (see `migrate`) and your business tables. */
  readonly databaseUrl: string
  readonly rabbitmqUrl?: string | undefined
  readonly kafkaBootstrap?: string | undefined
  /**
   * Cluster names for these addresses, instead of those the brokers announce: part of a destination's name.
   */
  readonly rabbitmqCluster?: string | undefined
  readonly kafkaCluster?: string | undefined
  /** `rabbitmq-stream://…`, for contracts that read streams; their dead letters still need `rabbitmqUrl`. */
  readonly rabbitmqStreamUrl?: string | undefined
  /**
   * Default `live`. In `replay` and `rebuild` external effects and messages are suppressed and counted. The
   * others need a campaign.
   */
  readonly mode?: Mode
  /**
   * Default all. A worker starts at once if the contract leaves work for later, otherwise when parked
   * messages are released.
   */
  readonly parts?: readonly Part[]
  readonly instance?: string
  /**
   * Lease of a dispatcher on an external effect, after which another dispatcher leases it. Default: the
   * dispatcher's.
   */
  readonly dispatcherLeaseMs?: number
  /** Lease of a relay on outbox rows: after a crash, another relay waits this long. Default 10 s. */
  readonly relayLeaseMs?: number
  /** How long outbox rows for change data capture are kept. Default an hour. */
  readonly cdcKeepMs?: number
  /** Folder for rows that a contract archives. */
  readonly archiveFolder?: string | undefined
  /**
   * Delay of the first retention pass, and pause between passes. Defaults 10 min and one hour.
   */
  readonly retentionFirstMs?: number
  readonly retentionEveryMs?: number
  /**
   * Maximum age of values from the database when metrics are collected; older ones are omitted. Default 15 s.
   */
  readonly gaugesMaxAgeMs?: number | undefined
  /** How often the registry is asked again for schemas that parked messages wait for. Default 30 s. */
  readonly schemaLookEveryMs?: number | undefined
  /** Refuses a database of another environment. */
  readonly environment?: string | undefined
  /** Of the store that this makes: see `TransactionOptions`. Default: `ONCEWARD_PREPARE`, or `auto`. */
  readonly prepare?: Prepare | undefined
  readonly env?: Environment
  /**
   * For contracts with isolation: this process is the child, and its supervisor kills it when it hangs and
   * restarts it.
   */
  readonly isolated?: boolean
}

/** A running consumer with its dispatcher and relay. */
export interface Running {
  readonly consumer: ConsumerProcess<unknown, SqlTransaction> | null
  /** Leases held work; null when the contract leaves none and no message was released before the start. */
  readonly worker: ConsumerProcess<unknown, SqlTransaction> | null
  /**
   * Accepts no new work, finishes running work and returns the rest. Default 25 s in total, below the grace
   * of Kubernetes; after that it leaves within a second.
   */
  drain(deadlineMs?: number): Promise<void>
  /** Leaves at once: transactions roll back, deliveries are returned. */
  leave(): void
  /** Whether work is being done now. Cheap, and never waits. */
  health(): Health
  /** Resolves when all parts have stopped; rejects when one halted. */
  readonly finished: Promise<void>
}

/**
 * Starts a consumer on PostgreSQL. Waits while the database or the broker is unreachable. Rejects with one
 * error, and starts nothing, when the consumer cannot work.
 */
export function runConsumer<M>(consumer: Consumer<M, SqlTransaction>, options: RunOptions): Promise<Running>
/** In the transactions of your own store on the same database: handlers get its handle. */
export function runConsumer<M, Tx>(
  consumer: Consumer<M, Tx>,
  options: RunOptions & { readonly store: Store<Tx> },
): Promise<Running>
export async function runConsumer<M>(
  consumer: Consumer<M, SqlTransaction>,
  options: RunOptions & { readonly store?: Store<SqlTransaction> },
): Promise<Running> {
  assertRunMode(consumer.name, options.mode ?? 'live')
  assertIsolated(consumer, options.isolated === true)
  const env = options.env ?? realEnvironment()
  const complete = withEnvironment(options)
  return startPatiently(signal => startConsumer(consumer, { ...complete, env, signal }), options, env)
}

async function startConsumer<M>(
  consumer: Consumer<M, SqlTransaction>,
  options: RunOptions & {
    readonly store?: Store<SqlTransaction>
    readonly env: Environment
    readonly signal: AbortSignal
  },
): Promise<Running> {
  const { env, mode = 'live' } = options
  const failed = new AbortController()
  const signal = AbortSignal.any([options.signal, failed.signal])
  const instance = options.instance ?? instanceName()
  const incarnation = new ServerIncarnation()
  const pool = createPool(options.databaseUrl, {
    verify: client => incarnation.check(client),
    max: consumer.batch.inFlightMax + 8 + (consumer.retention === null ? 0 : 1) + consumer.inbox.workers,
  })
  const carriers: RelayHandle[] = []
  const parts: Lifecycle[] = []
  let reader: ConsumerProcess<M, SqlTransaction> | null = null
  try {
    await assertUsable(pool, options.environment)
    if (options.store !== undefined) await assertSameDatabase(options.store, pool)
    const access = { ...options, pool, env, signal }
    const wanted = new Set(options.parts ?? ['consumer', 'worker', 'dispatcher', 'relay', 'retention'])
    if (wanted.has('consumer') && mode === 'live') await assertNothingLeft(pool, consumer)
    const { retryLevelsMs } = consumer.failure
    if (needsBroker(consumer, wanted)) await reachServers(serversOf(consumer as never, options), signal)
    const broker = await openBroker(consumer.source, access)
    const unsent = await copiesInOutbox(pool, consumer.source)
    const carriesCopies = unsent.size > 0
    const levels = retryLevelsMs.length > 0 ? [...(await broker.openRetryLevels!(retryLevelsMs))] : []
    if (wanted.has('consumer') && mode === 'live')
      levels.push(...(await openFormerLevels(consumer, broker, unsent, { pool, log: env.log })))
    const setting = { ...options, pool, env, instance, carriesCopies }
    const outgoing = await openOutgoing(consumer, broker, setting, wanted)
    carriers.push(...outgoing.relays)
    if (wanted.has('dispatcher'))
      carriers.push(...(await openDispatcher(consumer, options, pool, env, instance)))
    const store = options.store ?? ownStore(options, pool, incarnation)
    const kickAll = () => {
      for (const carrier of carriers) carrier.kick()
    }
    const callInline = createInlineCalls(consumer, { env, readVariable })
    const labelled = { ...env, metrics: env.metrics.inMode(mode) }
    const onOutage = recordOutages(pool, env.log)
    // In stored mode only workers call dependencies: storing continues without them.
    const shared = consumer.inbox.mode !== 'stored' && { shared: createSharedLimits(consumer, env) }
    const hooks = { callInline, onBatchDecided: kickAll, onOutage, ...shared }
    const { addressing } = outgoing
    const around = { consumer, store, env: labelled, instance, mode, addressing, ...hooks }
    const worker =
      wanted.has('worker') && store.work !== undefined
        ? new WorkerOnDemand({ ...around, released: store.sql && releasedWork(store.sql.query) })
        : null
    if (worker !== null) carriers.push(worker)
    // A process that neither inserts nor removes markers does not need the broker's redelivery window.
    const keepers =
      wanted.has('consumer') || wanted.has('retention') || wanted.has('worker')
        ? await openRetention(consumer, { ...options, ...access, idle: () => isIdle(reader) })
        : []
    if (wanted.has('worker') && mode === 'live' && consumer.message.codec.knows !== undefined)
      carriers.push(
        new SchemaRelease({ pool, consumer: consumer as never, env, everyMs: options.schemaLookEveryMs }),
      )
    const localHandoff = worker?.localHandoff
    if (wanted.has('consumer'))
      reader = new ConsumerProcess({
        ...around,
        source: broker.source,
        ...(localHandoff && { localHandoff }),
      })
    parts.push(...carriers, ...(reader === null ? [] : [reader]))
    if (wanted.has('consumer') && mode === 'live')
      parts.push(...levels.map(source => new ConsumerProcess({ ...around, source })))
    if (wanted.has('retention')) parts.push(...keepers)
    await startParts(parts, signal)
    const atWork = () => (worker?.process ?? null) as Process
    const watched = {
      consumer: consumer as never,
      queue: broker.source.capabilities.positions ? null : broker.source.name.split(' ').at(-1)!,
      pool,
      env,
      now: Date.now,
      gaugesMaxAgeMs: options.gaugesMaxAgeMs,
    }
    const watch = watchRun(watched, reader as Process, atWork)
    return running(reader as Process, atWork, parts, pool, env, watch)
  } catch (error) {
    failed.abort()
    // Running parts too: a reader left open would keep its partitions without reading them.
    const opened = new Set<Lifecycle>([...carriers, ...parts])
    for (const part of opened) part.leave()
    await Promise.allSettled([...opened].map(part => part.finished))
    await endPool(pool, env)
    throw databaseTrouble(error, options.databaseUrl)
  }
}

type Process = ConsumerProcess<unknown, SqlTransaction> | null

function needsBroker<M>({ failure }: Consumer<M, SqlTransaction>, wanted: ReadonlySet<string>): boolean {
  const { retryLevelsMs, deadLetter } = failure
  return wanted.has('consumer') || retryLevelsMs.length > 0 || (wanted.has('relay') && deadLetter !== null)
}

function ownStore(
  options: RunOptions & { readonly env: Environment },
  pool: OwnPool,
  incarnation: ServerIncarnation,
): Store<SqlTransaction> {
  return createPostgresStore({
    pool,
    incarnation,
    log: options.env.log,
    prepare: prepareOf(options),
    ...(options.environment && { environment: options.environment }),
  })
}

async function startParts(parts: readonly Lifecycle[], signal: AbortSignal): Promise<void> {
  for (const part of parts) {
    signal.throwIfAborted()
    // A part that halts while its source is being opened ends the wait.
    await Promise.race([part.start(), part.finished])
  }
  signal.throwIfAborted()
}

/** Health and metrics of the run, and its samples for the overview of all consumers. */
function watchRun(
  options: Omit<Parameters<typeof watchConsumer>[0], 'reader' | 'worker'>,
  reader: Process,
  worker: () => Process,
): HealthWatch {
  const { pool, env } = options
  const watch = watchConsumer({ ...options, reader, worker })
  const sampled = () => [reader, worker()].filter(one => one !== null)
  const sampler = new FlowSampler({ processes: sampled, pool, env })
  return { ...watch, close: async () => void (await Promise.all([watch.close(), sampler.close()])) }
}

/** A plain run in `forensic` would commit its effects, and one in `repair` would have no keys. */
function assertRunMode(name: string, mode: Mode): void {
  if (runModes.includes(mode)) return
  throw new OncewardError(
    'usage',
    `Consumer ${name} cannot run in mode '${mode}', only in ${runModes.join(', ')}. Nothing was started. Other modes are campaigns: see openReplay and "onceward replay".`,
  )
}

async function openDispatcher<M>(
  consumer: Consumer<M, SqlTransaction>,
  options: RunOptions,
  pool: SqlPool,
  env: Environment,
  instance: string,
): Promise<RelayHandle[]> {
  const targets = consumer.effect?.external ?? {}
  await reportOrphans(pool, consumer.name, Object.keys(targets), env.log)
  if (Object.keys(targets).length === 0) return []
  const leaseMs = options.dispatcherLeaseMs
  return [
    createDispatcher({
      pool,
      targets,
      consumerName: consumer.name,
      env,
      instance,
      readVariable,
      ...(leaseMs && { leaseMs }),
    }),
  ]
}

/**
 * No open transaction and no deliveries. Repeated checks never find a consumer with a backlog idle, nor one
 * that waits for a dependency before it can read what was redelivered.
 */
function isIdle<M>(reader: ConsumerProcess<M, SqlTransaction> | null): boolean {
  if (reader === null) return true
  const { batchesInFlight, held, storeUnavailable, breaker } = reader.tally
  const waits = storeUnavailable || breaker !== 'closed'
  return reader.state === 'running' && batchesInFlight === 0 && held === 0 && !waits
}

function readVariable(name: string): string | undefined {
  return process.env[name]
}
/**
 * A process cannot end its own endless loop, so isolation without a supervisor is refused.
 */
function assertIsolated({ name, isolation }: Pick<Consumer, 'name' | 'isolation'>, isolated: boolean): void {
  if (isolation.mode !== 'child' || isolated) return
  throw new OncewardError(
    'configuration',
    `The contract of ${name} asks for isolation in a child process, and runConsumer runs in this one. Nothing was started. Start it with "onceward run"; or, if your supervisor kills this process when it hangs and restarts it, pass isolated: true; or remove isolation from the contract.`,
  )
}
