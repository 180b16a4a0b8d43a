import { diagnose } from '../../drivers/postgres/diagnose.ts'
import { OncewardError } from '../../errors.ts'
import type { CheckpointStore } from '../../ports/checkpoint-store.ts'
import type { ConsumerFacts, Enrolment } from '../../ports/enrolment.ts'
import type { Loss, Ownership, Position } from '../../ports/source.ts'
import type { Store, StoreTrouble } from '../../ports/store.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { Actor } from './actor.ts'
import type { SimulatedDatabase } from './database.ts'
import type { SimulatedTx } from './handler-transaction.ts'
import { SimulatedSession } from './session.ts'
import { storeErrors } from './store-error.ts'
import { blocked, type SimulatedDatabaseTransaction } from './transaction.ts'

/**
 * The store port of one simulated process. Transactions of all processes interleave statement by statement.
 */
export class SimulatedStore implements Store<SimulatedTx> {
  readonly capabilities = {
    durable: true,
    shared: true,
    sql: false,
    concurrent: true,
    businessKeys: true,
    keyOrder: true,
    outgoing: true,
  }
  readonly checkpoints: CheckpointStore = {
    take: (_enrolment, partitions) => this.#takePartitions(partitions),
    begin: (_enrolment, partition, epoch, position) => this.#beginPartition(partition, epoch, position),
    declareLoss: (_enrolment, loss) => this.#declareLoss(loss),
    /** Simulated logs never recover lost records. */
    withdrawLoss: () => Promise.resolve(),
  }
  readonly database: SimulatedDatabase
  readonly #actor: Actor

  constructor(database: SimulatedDatabase, actor: Actor) {
    this.database = database
    this.#actor = actor
  }

  enroll(facts: ConsumerFacts): Promise<Enrolment> {
    return this.#ask('enroll', () => ({ consumerId: 1, runId: this.#actor.number, facts }))
  }

  closeRun(): Promise<void> {
    return this.#ask('close run', () => {})
  }

  ping(): Promise<void> {
    return this.#ask('ping', () => {})
  }

  diagnose(error: unknown): StoreTrouble {
    return diagnose(error)
  }

  async transaction<T>(
    _enrolment: Enrolment,
    work: (session: StoreSession<SimulatedTx>) => Promise<T>,
  ): Promise<T> {
    const transaction = this.database.begin(this.#actor)
    const session = new SimulatedSession(transaction)
    try {
      const result = await work(session)
      session.end()
      await transaction.commit()
      return result
    } catch (error) {
      session.end()
      await transaction.rollback().catch(() => {})
      throw error
    }
  }

  #takePartitions(partitions: readonly string[]): Promise<readonly Ownership[]> {
    return this.#alone(`take ${partitions}`, partitions, transaction =>
      partitions.map(partition => {
        const row = transaction.read('checkpoints', partition) ?? { epoch: 0, stored: null }
        transaction.write('checkpoints', partition, { ...row, epoch: row.epoch + 1 })
        return { partition, epoch: row.epoch + 1, lastRun: null, stored: row.stored, resumeAt: null }
      }),
    )
  }

  #beginPartition(partition: string, epoch: number, stored: Position): Promise<void> {
    return this.#alone(`begin ${partition} at ${stored.next}`, [partition], transaction => {
      if (transaction.read('checkpoints', partition)?.epoch !== epoch) {
        throw new OncewardError(
          'ownership_lost',
          `Another process reads ${partition}. Nothing was changed.`,
          {
            details: { partitions: [partition] },
          },
        )
      }
      const { incarnation, next } = stored
      transaction.progress.push({ partition, epoch, incarnation, from: null, next })
      transaction.write('checkpoints', partition, { epoch, stored })
    })
  }

  #declareLoss(loss: Loss): Promise<void> {
    return this.#alone(`declare a loss in ${loss.partition}`, [], transaction => {
      transaction.write('losses', `${loss.partition}\0${loss.from.next}`, loss)
    })
  }

  /** One statement, committed with it. */
  #alone<T>(
    label: string,
    partitions: readonly string[],
    run: (transaction: SimulatedDatabaseTransaction) => T,
  ): Promise<T> {
    const transaction = this.database.begin(this.#actor)
    const names = partitions.toSorted().map(partition => `checkpoint ${partition}`)
    return transaction
      .send(label, () => {
        for (const name of names) if (!transaction.lock(name)) return blocked
        const result = run(transaction)
        transaction.take()
        return result
      })
      .catch(error => {
        transaction.end()
        throw error
      })
  }

  #ask<T>(label: string, answer: () => T): Promise<T> {
    return this.database.scheduler.call(this.#actor, label, () => {
      if (this.database.down) throw storeErrors.refused()
      return answer()
    })
  }
}
