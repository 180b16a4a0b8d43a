import type { Transform } from '../contract/define-transform.ts'
import { kafkaAddress } from '../drivers/broker-addresses.ts'
import type { BrokerSecurity } from '../drivers/broker-security.ts'
import type { KafkaConnectionOptions } from '../drivers/kafka/client/connection-options.ts'
import type { TopicDeclaration } from '../drivers/kafka/topic.ts'
import { TransformBatches } from '../engine/transform/transform-batches.ts'
import type { Environment } from '../environment.ts'
import { OncewardError } from '../errors.ts'
import type { TopicLimits } from '../ports/topic-limits.ts'
import { withEnvironment } from './addresses.ts'
import { importKafka } from './broker-clients.ts'
import { type StartOptions, startPatiently } from './patient-start.ts'
import { realEnvironment } from './real-environment.ts'
import type { Running } from './run-consumer.ts'
import { transformDeadLetter } from './transform-dead-letter.ts'
import { watchTransform } from './transform-health.ts'

/** Missing addresses are read from the same variables as on the command line. */
export interface RunTransformOptions extends StartOptions, BrokerSecurity {
  readonly kafkaBootstrap?: string | undefined
  /**
   * The broker aborts a transaction that stays open longer than this: the longest wait after a crash of a
   * process without `instance`. Default 10 s.
   */
  readonly transactionTimeoutMs?: number
  readonly env?: Environment
}

/** A running transform. */
export interface RunningTransform extends Pick<Running, 'drain' | 'leave' | 'health' | 'finished'> {
  readonly tally: TransformTally
}

/** Counts since the start of the process. */
export interface TransformTally {
  readonly outcomes: Readonly<Record<string, number>>
  readonly outputs: number
  readonly committed: number
  readonly aborted: number
}

type Parts = RunTransformOptions & { readonly env: Environment; readonly signal: AbortSignal }

/**
 * Starts a transform. Waits while the broker is unreachable. Rejects with one error, and starts nothing, when
 * the transform cannot work. Any number of processes may run; they share the partitions.
 */
export async function runTransform<M>(
  transform: Transform<M>,
  options: RunTransformOptions = {},
): Promise<RunningTransform> {
  const env = options.env ?? realEnvironment()
  const complete = withEnvironment(options)
  return startPatiently(signal => startTransform(transform, { ...complete, env, signal }), options, env)
}

async function startTransform<M>(transform: Transform<M>, options: Parts): Promise<RunningTransform> {
  const { env, signal } = options
  const source = transform.source as TopicDeclaration
  const connection = kafkaAddress(source, options.kafkaBootstrap, options)
  if (connection === null)
    throw new OncewardError(
      'configuration',
      `Transform ${transform.name} reads from Kafka, but no address is configured. Set ONCEWARD_KAFKA_BOOTSTRAP. Nothing was started.`,
    )
  const { ensureTopic } = await importKafka()
  const { deadLetter } = transform.failure
  for (const name of [...transform.to, ...(deadLetter === null ? [] : [deadLetter])]) {
    signal.throwIfAborted()
    await ensureTopic(connection, name)
  }
  const leaving = new AbortController()
  const work = await openWork(transform, connection, env, leaving.signal)
  const loop = await openLoop(transform, connection, options, work)
  signal.throwIfAborted()
  await loop.start()
  const watch = watchTransform({ transform, loop, work, env })
  const leave = () => {
    leaving.abort(new OncewardError('consumer_halted', 'The transform was stopped at once.'))
    loop.leave()
  }
  const finished = loop.finished.finally(() => watch.close())
  finished.catch(() => {})
  return {
    finished,
    leave,
    health: () => watch.read(),
    async drain(deadlineMs = 25_000) {
      watch.stopping()
      const cancel = env.timers.after(deadlineMs, leave)
      await loop.drain().finally(cancel)
      await finished
    },
    get tally() {
      const { outputs, transactions, aborted } = loop.tally
      return { outcomes: work.outcomes, outputs, committed: transactions, aborted }
    },
  }
}

async function openWork<M>(
  transform: Transform<M>,
  connection: KafkaConnectionOptions,
  env: Environment,
  signal: AbortSignal,
) {
  const { toOutgoing } = await import('../drivers/kafka/transform-records.ts')
  const { toTopicRecord } = await import('../drivers/kafka/kafka-publisher.ts')
  const limits = await topicLimits(transform, connection)
  const allowed = new Set(transform.to)
  return new TransformBatches({
    transform,
    env,
    signal,
    toOutput: (output, { delivery }) => {
      const { timestampMs = 0 } = delivery.properties
      const record = toOutgoing(output, { timestampMs })
      if (!allowed.has(record.topic)) throw undeclared(record.topic, transform)
      const traced = env.traces.outgoing(delivery.headers, record.topic)
      if (traced === null) return record
      const own = new Set(record.headers.map(([name]) => name))
      const added = Object.entries(traced).filter(([name]) => !own.has(name))
      return {
        ...record,
        headers: [...record.headers, ...added.map(([name, text]) => [name, Buffer.from(text)] as const)],
      }
    },
    toDeadLetter: (received, decision, failingForMs) => {
      const lastMs = Date.now()
      const times = { firstMs: lastMs - failingForMs, lastMs }
      const letter = transformDeadLetter(transform, received, decision, limits, times)
      return letter === null ? null : toTopicRecord(letter)
    },
  })
}

type Work<M> = Awaited<ReturnType<typeof openWork<M>>>

async function openLoop<M>(
  transform: Transform<M>,
  connection: KafkaConnectionOptions,
  { env, transactionTimeoutMs }: Parts,
  work: Work<M>,
) {
  const { TransformLoop } = await import('../drivers/kafka/transform-loop.ts')
  const { name: consumer, generation, source, batch } = transform
  const { kind: _kind, ...declaration } = source as TopicDeclaration
  return new TransformLoop({
    ...declaration,
    ...connection,
    group: declaration.group ?? `${consumer}.${generation}`,
    batchMax: batch.sizeMax,
    ...(transactionTimeoutMs !== undefined && { transactionTimeoutMs }),
    work,
    keepsUnreadable: true,
    log: env.log,
    reach: env.reach,
    onTransaction: (reason, outputs) => {
      env.metrics.add('positionCommits', 1, { consumer, status: reason === null ? 'success' : 'failure' })
      if (reason !== null) env.metrics.add('commitFailures', 1, { consumer, reason })
      else if (outputs > 0)
        env.metrics.add('published', outputs, { broker: 'kafka', 'messaging.system': 'kafka' })
    },
  })
}

/** Read once: a dead letter that no longer fits is refused by the broker, and halts the transform. */
async function topicLimits<M>(
  { failure }: Transform<M>,
  connection: KafkaConnectionOptions,
): Promise<TopicLimits> {
  const known = new Map<string, number>()
  if (failure.deadLetter !== null) {
    const { createKafkaPublisher } = await importKafka()
    const publisher = createKafkaPublisher(connection)
    try {
      for (const [topic, bytes] of await publisher.readLimits([failure.deadLetter]))
        if (typeof bytes === 'number') known.set(topic, bytes)
    } finally {
      await publisher.close()
    }
  }
  return { bytesMax: topic => known.get(topic) ?? null, doubt() {} }
}

function undeclared(topic: string, { name, to }: Pick<Transform, 'name' | 'to'>): OncewardError {
  return new OncewardError(
    'usage',
    `Transform ${name} made an output for topic ${topic}, but its contract names only ${to.join(', ')}. Add the topic to \`to\`, or correct the output.`,
  )
}
