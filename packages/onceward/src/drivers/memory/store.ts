import type { Dedup } from '../../contract/contract.ts'
import type { CheckpointStore } from '../../ports/checkpoint-store.ts'
import type { Enrolment } from '../../ports/enrolment.ts'
import { keptBesideMarkers } from '../../ports/kept-beside-markers.ts'
import type { Store } from '../../ports/store.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { SuspectStore } from '../../ports/suspects.ts'
import { MemoryRuns } from './runs.ts'

import { MemorySession } from './session.ts'
import { copyState, emptyState, forgetRun, type MemoryState, type MemoryTransaction } from './state.ts'

export type { MemoryTransaction } from './state.ts'

/**
 * The store port in this process's memory, for unit tests and first steps. Transactions run one after the
 * other on a copy that replaces the state at commit, so a rollback drops the copy.
 */
export class MemoryStore implements Store<MemoryTransaction> {
  readonly capabilities = {
    durable: false,
    shared: false,
    sql: false,
    concurrent: true,
    businessKeys: true,
    keyOrder: true,
    outgoing: true,
  }
  #state: MemoryState = emptyState()
  #consumers = 0
  readonly #runs = new MemoryRuns()
  readonly suspects: SuspectStore = {
    beat: async ({ runId }) => this.#runs.beat(runId),
    clear: async (_enrolment, runIds) => this.#runs.end(runIds),
    beginAttempt: (enrolment, id, attemptsMax, survived = []) =>
      this.transaction(enrolment, async session => {
        await session.suspects!.withdrawAttempts(survived)
        return (session as MemorySession).beginAttempt(id, attemptsMax)
      }),
    beginGroup: (enrolment, ids, size, survived = []) =>
      this.transaction(enrolment, async session => {
        await session.suspects!.withdrawAttempts(survived)
        ;(session as MemorySession).beginGroup(ids, size)
      }),
    groupLimits: (enrolment, ids) =>
      this.transaction(enrolment, async session =>
        (session as MemorySession).groupLimits(ids, runId => this.#runs.isClosed(runId)),
      ),
  }
  readonly checkpoints: CheckpointStore = {
    take: (enrolment, partitions) =>
      this.transaction(enrolment, async session => (session as MemorySession).take(partitions)),
    begin: (enrolment, partition, epoch, position) =>
      this.transaction(enrolment, session =>
        session.log!.advance([{ partition, epoch, from: null, ...position }]),
      ),
    declareLoss: (enrolment, loss) =>
      this.transaction(enrolment, async session => (session as MemorySession).lose(loss)),
    withdrawLoss: (enrolment, partition, epoch, from) =>
      this.transaction(enrolment, async session => {
        const { incarnation } = from
        await session.log!.advance([{ partition, epoch, incarnation, from: null, next: null }])
        ;(session as MemorySession).withdraw(partition, from)
      }),
  }
  readonly #dedup = new Map<string, Dedup>()
  #tail: Promise<unknown> = Promise.resolve()

  async enroll(facts: Enrolment['facts']): Promise<Enrolment> {
    const scope = `${facts.name}/${facts.generation}`
    const begun = [...this.#state.checkpoints].some(
      ([key, { stored }]) => key.startsWith(`${scope}\0`) && stored !== null,
    )
    if (begun && facts.dedup === 'checkpoint' && this.#dedup.get(scope) !== 'checkpoint')
      throw keptBesideMarkers(facts)
    this.#dedup.set(scope, facts.dedup)
    this.#consumers++
    this.#runs.begin(this.#consumers, scope, facts.deliveriesMax)
    return { consumerId: this.#consumers, runId: this.#consumers, facts }
  }

  async closeRun({ runId }: Enrolment, halted?: string): Promise<void> {
    if (halted !== undefined) return
    this.#runs.close(runId)
    // Not awaited: a transaction of its own may hang.
    this.#tail = this.#tail.then(() => forgetRun(this.#state, runId))
  }

  ping(): Promise<void> {
    return Promise.resolve()
  }

  diagnose(): 'statement' {
    return 'statement'
  }

  transaction<T>(
    enrolment: Enrolment,
    work: (session: StoreSession<MemoryTransaction>) => Promise<T>,
  ): Promise<T> {
    const turn = this.#tail.then(async () => {
      const copy = copyState(this.#state)
      const session = new MemorySession(copy, enrolment)
      try {
        const result = await work(session)
        this.#state = copy
        return result
      } finally {
        session.end()
      }
    })
    this.#tail = turn.catch(() => {})
    return turn
  }

  /** The committed state, for assertions. */
  get committed(): Readonly<MemoryState> {
    return this.#state
  }
}
