import {
  type Consumer,
  ConsumerProcess,
  defineConsumer,
  type Environment,
  realEnvironment,
  type Source,
  type SourceDeclaration,
  type SqlTransaction,
  type Store,
} from 'onceward'
import { createPool, createPostgresStore } from 'onceward/postgres'
import { createRabbitSource, queue } from 'onceward/rabbitmq'
import type { Place } from '../place.ts'
import type { Increment } from '../workload.ts'
import { changesOf, incrementCounters } from './apply-batch.ts'
import { type Consume, letAcksArrive, type OpenContender, startClock } from './contender.ts'

export type Form = 'batch' | 'message'

export interface IncrementOptions {
  /** Default `increments_by_` with the form. */
  readonly name?: string
  /** Default `batch`. */
  readonly form?: Form
  readonly order?: 'partition' | 'key'
  readonly dedup?: 'checkpoint'
  /** Risk money, and identities to put into receipts: one for each message, or none. */
  readonly money?: 'with receipts' | 'without receipts'
}
type Pool = ReturnType<typeof createPool>
export type OpenSource = (queueName: string, pool: Pool) => { declaration: SourceDeclaration; source: Source }

/**
 * Both forms with the defaults a user gets: nothing is tuned here. A checkpoint needs the order of the
 * partition.
 */
export function defineIncrements(options: IncrementOptions, source: SourceDeclaration) {
  const { form = 'batch', dedup, order = dedup === undefined ? undefined : 'partition', money } = options
  const contract = {
    name: options.name ?? `increments_by_${form}`,
    owner: 'bench',
    risk: money === undefined ? ('projection' as const) : ('money' as const),
    source,
    identity: {
      id: (message: Increment) => message.id,
      ...(money !== undefined && identities),
      ...(order === 'key' && { orderKey: (message: Increment) => String(message.key) }),
    },
    ...(order !== undefined && { order }),
    ...(dedup !== undefined && { dedup }),
    ...(money === 'without receipts' && { evidence: { receipts: false } }),
  }
  if (form === 'message') {
    return defineConsumer<Increment, SqlTransaction>({
      ...contract,
      async handle({ message, tx }) {
        await tx.query('update counter set total = total + $2 where key = $1', [message.key, message.amount])
      },
    })
  }
  return defineConsumer<Increment, SqlTransaction>({
    ...contract,
    async handleBatch({ batch, tx }) {
      await tx.query(incrementCounters, changesOf(batch.map(item => item.message)))
    },
  })
}

/** As many as a payment has; half of them differ from message to message. */
const identities = {
  type: () => 'IncrementRequested',
  schemaVersion: () => 3,
  producer: () => 'bench',
  correlationId: (message: Increment) => message.id,
  eventId: (message: Increment) => message.id,
  aggregateId: (message: Increment) => message.key,
}

export const openOncewardMoney =
  (form: Form, money: NonNullable<IncrementOptions['money']>): OpenContender =>
  async place =>
    consumeAs(place, source => defineIncrements({ form, money }, source), rabbitSource(place))

export const openOncewardBatch: OpenContender = async place =>
  consumeWith(place, 'batch', rabbitSource(place))
export const openOncewardMessage: OpenContender = async place =>
  consumeWith(place, 'message', rabbitSource(place))

export function rabbitSource(place: Place): (queueName: string) => ReturnType<OpenSource> {
  return queueName => {
    const declaration = queue(queueName)
    return { declaration, source: createRabbitSource(declaration, { url: place.rabbitmqUrl! }) }
  }
}

export function consumeWith(place: Place, form: Form, openSource: OpenSource): Consume {
  return consumeAs(place, source => defineIncrements({ form }, source), openSource)
}

/** Any consumer of the workload's messages. */
export function consumeAs(
  place: Place,
  define: (source: SourceDeclaration) => Consumer<Increment, SqlTransaction>,
  openSource: OpenSource,
  openEnvironment: () => Environment = realEnvironment,
): Consume {
  const pool = createPool(place.databaseUrl)
  return consumeInStore(
    createPostgresStore({ pool }),
    define,
    name => openSource(name, pool),
    openEnvironment,
  )
}

/** The same in the transactions of any store. */
export function consumeInStore<Tx>(
  store: Store<Tx>,
  define: (source: SourceDeclaration) => Consumer<Increment, Tx>,
  openSource: (queueName: string) => ReturnType<OpenSource>,
  openEnvironment: () => Environment = realEnvironment,
): Consume {
  return async ({ queue, load }) => {
    const { declaration, source } = openSource(queue)
    const consumer = define(declaration)
    const env = openEnvironment()
    const process = new ConsumerProcess({ consumer, source, store, env, instance: 'bench' })
    await process.start()
    const seconds = startClock()
    await applied(process, load.count)
    const took = seconds()
    await letAcksArrive()
    await process.drain()
    return took
  }
}

/** Faster than every contender: a look that is due when the rest would be done at this rate is never late. */
const rateMax = 400_000

/**
 * Looks often only near the end: once per millisecond, the looking was a part of what it measured. Settling
 * follows counting without a pause in between.
 */
export async function applied<M, Tx>(process: ConsumerProcess<M, Tx>, count: number): Promise<void> {
  for (let left = count; left > 0; left = count - ended(process.tally.outcomes)) {
    if (process.state === 'halted') await process.finished
    await new Promise(resolve => setTimeout(resolve, Math.min(100, (1_000 * left) / rateMax)))
  }
}

/** A projection may find a message stale that another batch has overtaken: that is an end as well. */
function ended({ applied = 0, stale = 0 }: Readonly<Record<string, number>>): number {
  return applied + stale
}
