import type { ConsumerContract } from 'onceward'
import { MemoryStore, type MemoryTransaction } from 'onceward/memory'
import { createTestEnvironment } from 'onceward/testing'
import { defineConsumer } from '../../src/contract/define-consumer.ts'
import { LogSubscription } from '../../src/drivers/log/log-subscription.ts'
import { PartitionProgress } from '../../src/drivers/log/partition-progress.ts'
import { ConsumerProcess } from '../../src/engine/consumer/consumer.ts'
import type { Enrolment } from '../../src/ports/enrolment.ts'
import type { OpenOptions, Source, Subscription } from '../../src/ports/source.ts'
import type { StoreSession } from '../../src/ports/store-session.ts'

export interface Record {
  readonly id: string
}

/**
 * A log of fixed records, given to whoever opens it; what was told is kept per partition, and in order with
 * what the store did.
 */
export class ScriptedLog implements Source {
  readonly name = 'scripted log'
  readonly capabilities = {
    order: { key: true, partition: true },
    positions: true,
    deliveryCount: false,
    redelivers: true,
  }
  readonly told = new Map<string, string>()
  readonly #records: { readonly [partition: string]: { readonly [offset: number]: string } }
  readonly #history: string[]
  subscription: LogSubscription | null = null

  constructor(
    records: { readonly [partition: string]: { readonly [offset: number]: string } },
    history: string[],
  ) {
    this.#records = records
    this.#history = history
  }

  async open(options: OpenOptions): Promise<Subscription> {
    const subscription = new LogSubscription(options, {
      origin: 'scripted',
      commit: async moved => {
        for (const { partition, position } of moved) {
          this.told.set(partition, position)
          this.#history.push(`told ${partition}@${position}`)
        }
        return { missed: 0 }
      },
      onRoom: () => {},
      behind: () => null,
      close: async () => {},
    })
    this.subscription = subscription
    const owned = await options.log.checkpoints.take(Object.keys(this.#records))
    for (const { partition, epoch, stored } of owned) {
      const offsets = Object.entries(this.#records[partition]!)
      const position = stored ?? { incarnation: 'life 1', next: offsets[0]![0] }
      if (stored === null) await options.log.checkpoints.begin(partition, epoch, position)
      const progress = new PartitionProgress(partition, epoch, position)
      subscription.own(progress)
      const rest = offsets.filter(([offset]) => Number(offset) >= Number(position.next))
      const records = rest.map(([offset, id]) => ({
        body: Buffer.from(JSON.stringify({ id })),
        headers: {},
        properties: {},
        key: null,
        at: offset,
        next: String(Number(offset) + 1),
        position: `${partition}@${offset}`,
        redelivered: false,
      }))
      subscription.offer(progress, records, records.at(-1)?.next ?? position.next)
    }
    return subscription
  }
}

/** The memory store, whose answer to one COMMIT may get lost. */
export class ForgetfulStore extends MemoryStore {
  /** The answer to the next commit of an effect gets lost. */
  loseNextAnswer = false
  /** So many transactions are broken off before their COMMIT. */
  refuseCommits = 0
  readonly history: string[] = []

  override async transaction<T>(
    enrolment: Enrolment,
    work: (session: StoreSession<MemoryTransaction>) => Promise<T>,
  ): Promise<T> {
    const result = await super.transaction(enrolment, async session => {
      const done = await work(session)
      if (this.refuseCommits > 0 && this.refuseCommits-- > 0) throw connectionLost()
      return done
    })
    this.history.push('committed')
    if (this.loseNextAnswer && this.committed.data.size > 0) {
      this.loseNextAnswer = false
      throw connectionLost()
    }
    return result
  }

  override diagnose(error?: unknown): 'statement' {
    return ((error as { lost?: boolean }).lost ? 'unavailable' : 'statement') as 'statement'
  }
}

function connectionLost(): Error {
  return Object.assign(new Error('connection reset'), { lost: true })
}

export function logRig(records: { readonly [partition: string]: { readonly [offset: number]: string } }) {
  const store = new ForgetfulStore()
  const log = new ScriptedLog(records, store.history)
  const env = createTestEnvironment()
  const applied = () => [...((store.committed.data.get('applied') as string[] | undefined) ?? [])]
  const apply = (tx: MemoryTransaction, id: string) => {
    tx.set('applied', [...((tx.get('applied') as string[] | undefined) ?? []), id])
  }
  const start = async (changes: Partial<ConsumerContract<Record, MemoryTransaction>> = {}) => {
    const consumer = defineConsumer<Record, MemoryTransaction>({
      name: 'reader',
      owner: 'unit',
      risk: 'low value',
      source: { kind: 'memory' },
      identity: { id: m => m.id },
      order: 'partition',
      ...(changes.handleBatch === undefined && { handle: ({ message, tx }) => apply(tx, message.id) }),
      ...changes,
    })
    const one = new ConsumerProcess({ consumer, source: log, store, env, instance: 'unit' })
    await one.start()
    return one
  }
  return { store, log, env, applied, apply, start }
}
