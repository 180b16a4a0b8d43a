import type { BusinessKeySession } from '../../ports/business-keys.ts'
import type { LogSession } from '../../ports/checkpoint-store.ts'
import type { AttemptCount, AttemptRecord, Conclusion } from '../../ports/conclusion.ts'
import type { Enrolment } from '../../ports/enrolment.ts'
import type { EvidenceSession } from '../../ports/evidence.ts'
import type { HandlerTransaction } from '../../ports/handler-transaction.ts'
import type { HeldSession } from '../../ports/held-work.ts'
import type { HistorySession } from '../../ports/history.ts'
import type { KeyOrderSession } from '../../ports/key-order.ts'
import type { MarkerAnswer, NewMarker } from '../../ports/markers.ts'
import type { Outgoing, OutgoingSession } from '../../ports/outgoing.ts'
import type { ReceiptSession } from '../../ports/receipts.ts'
import type { Progress } from '../../ports/source.ts'
import type { Savepoint, StoreSession } from '../../ports/store-session.ts'
import type { SuspectSession } from '../../ports/suspects.ts'
import type { SqlClient } from './pool.ts'
import type { ProcessTurns } from './process-turns.ts'
import { advancePartitions, type CommitFence, commitFence, readPositions } from './sql/advance-partitions.ts'
import { blockedKeys } from './sql/blocked-keys.ts'
import { concludeMessages } from './sql/conclude-messages.ts'
import { confirmLeases } from './sql/confirm-leases.ts'
import { countAttempts } from './sql/count-attempts.ts'
import { finishWork } from './sql/finish-work.ts'
import { givenUpElsewhere } from './sql/given-up.ts'
import { insertBusinessKeys } from './sql/insert-business-keys.ts'
import { insertMarkers } from './sql/insert-markers.ts'
import { keepMessages } from './sql/keep-messages.ts'
import { keepReceipts } from './sql/keep-receipts.ts'
import { keysAtWork } from './sql/keys-at-work.ts'
import { makeLive } from './sql/make-live.ts'
import { evidenceSession } from './sql/note-evidence.ts'
import { notePublished } from './sql/note-published.ts'
import { noteSuppressed } from './sql/note-suppressed.ts'
import { recordIntents } from './sql/record-intents.ts'
import { withdraw } from './sql/silent-runs.ts'
import { writeOutbox } from './sql/write-outbox.ts'

/** The calls of one batch on one client inside one transaction. */
export class SqlSession<Tx> implements StoreSession<Tx> {
  readonly #client: SqlClient
  readonly #enrolment: Enrolment
  readonly #makeHandlerTx: (shared: boolean) => HandlerTransaction<Tx>
  readonly #handlerTxs: HandlerTransaction<Tx>[] = []
  readonly held: HeldSession
  readonly #fencesWithCommit: boolean
  readonly #turns: ProcessTurns
  /** Sent with COMMIT. */
  commitFence: CommitFence | null = null

  constructor(
    client: SqlClient,
    enrolment: Enrolment,
    makeHandlerTx: (shared: boolean) => HandlerTransaction<Tx>,
    { turns, fencesWithCommit = false }: { turns: ProcessTurns; fencesWithCommit?: boolean },
  ) {
    this.#fencesWithCommit = fencesWithCommit
    this.#turns = turns
    this.#client = client
    this.#enrolment = enrolment
    this.#makeHandlerTx = makeHandlerTx
    this.held = {
      keep: (messages, holder) => keepMessages(client, enrolment, messages, holder),
      keysAtWork: keys => keysAtWork(client, enrolment, keys),
      confirmLeases: work => confirmLeases(client, enrolment, work),
      finish: (done, again) => finishWork(client, enrolment, done, again),
      makeLive: ids => makeLive(client, enrolment, ids),
      noteSuppressed: (campaignId, effects) => noteSuppressed(client, campaignId, effects),
    }
  }

  insertMarkers(
    claims: readonly NewMarker[],
    as: 'applied' | 'stored' = 'applied',
  ): Promise<readonly MarkerAnswer[]> {
    return insertMarkers(this.#client, this.#enrolment, claims, as)
  }

  async parkedTotal(): Promise<number> {
    const { rows } = await this.#client.query(
      `select coalesce(sum(delta), 0)::float8 as total from onceward.parked_count where consumer_id = $1 and state = 'parked'`,
      [this.#enrolment.consumerId],
    )
    return rows[0].total
  }

  get businessKeys(): BusinessKeySession {
    return { insert: claims => insertBusinessKeys(this.#client, this.#enrolment, claims) }
  }

  get receipts(): ReceiptSession {
    return { keep: messages => keepReceipts(this.#client, this.#enrolment, messages) }
  }

  get keyOrder(): KeyOrderSession {
    return { blockedKeys: keys => blockedKeys(this.#client, this.#enrolment, keys) }
  }

  get outgoing(): OutgoingSession {
    return {
      request: intents => recordIntents(this.#client, this.#enrolment, intents),
      publish: messages => this.#publish(messages),
    }
  }

  get log(): LogSession {
    return {
      positions: partitions => readPositions(this.#client, this.#enrolment, partitions),
      advance: progress => this.#advance(progress),
    }
  }

  get suspects(): SuspectSession {
    return { withdrawAttempts: ids => this.#withdrawAttempts(ids) }
  }

  get history(): HistorySession {
    return {
      horizon: () => this.#horizon(),
      givenUpElsewhere: this.#enrolment.hasOthers
        ? messages => givenUpElsewhere(this.#client, this.#enrolment, messages)
        : undefined,
    }
  }

  get evidence(): EvidenceSession {
    return evidenceSession(this.#client, this.#enrolment)
  }

  async #horizon(): ReturnType<HistorySession['horizon']> {
    const { rows } = await this.#client.query(
      `select (extract(epoch from (select purged_before from onceward.horizon where consumer_id = $1)) * 1000)::float8
         as "purgedBeforeMs",
         (extract(epoch from (select keep from onceward.retention where consumer_id = $1 and kind = 'markers')) * 1000)::float8 as "keepMs",
         (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"`,
      [this.#enrolment.consumerId],
    )
    return rows[0]
  }

  handlerTransaction(shared = false): HandlerTransaction<Tx> {
    const handlerTx = this.#makeHandlerTx(shared)
    this.#handlerTxs.push(handlerTx)
    return handlerTx
  }

  lockWrites(messages: number): Promise<void> {
    return this.#turns.take(this.#client, this.#enrolment.consumerId, messages)
  }

  savepoint(): Savepoint {
    // If these fail, later statements and the last statement of the transaction fail too.
    const send = (text: string) => this.#client.query(text).then(() => {})
    send('savepoint part').catch(() => {})
    return {
      undo: () => send('rollback to savepoint part; release savepoint part'),
      keep: () => void send('release savepoint part').catch(() => {}),
    }
  }

  async #publish(messages: readonly Outgoing[]): Promise<void> {
    await writeOutbox(this.#client, messages, this.#enrolment.facts.destinations)
    const noted = messages.filter(message => message.cause !== undefined)
    if (noted.length > 0) await notePublished(this.#client, this.#enrolment, noted)
  }

  countAttempts(failures: readonly AttemptRecord[]): Promise<readonly AttemptCount[]> {
    return countAttempts(this.#client, this.#enrolment, failures)
  }

  async #withdrawAttempts(ids: readonly string[]): Promise<void> {
    const { consumerId, runId } = this.#enrolment
    await this.#client.query(withdraw, [consumerId, runId, ids])
  }

  conclude(conclusions: readonly Conclusion[]): Promise<ReadonlySet<Conclusion>> {
    return concludeMessages(this.#client, this.#enrolment, conclusions)
  }

  async #advance(progress: readonly Progress[]): Promise<void> {
    if (this.#fencesWithCommit) this.commitFence = commitFence(this.#enrolment, progress)
    if (this.commitFence === null) await advancePartitions(this.#client, this.#enrolment, progress)
  }

  /** No handler may use the client after the transaction has ended. */
  end(): void {
    for (const handlerTx of this.#handlerTxs) handlerTx.revoke()
  }

  /** Resolves when every statement of the handlers is answered. Null if all of them are. */
  idle(): Promise<unknown> | null {
    const busy = this.#handlerTxs.filter(handlerTx => handlerTx.pending > 0)
    return busy.length === 0 ? null : Promise.all(busy.map(handlerTx => handlerTx.idle()))
  }
}
