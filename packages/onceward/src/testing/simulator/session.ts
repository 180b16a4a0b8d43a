import { OncewardError } from '../../errors.ts'
import type { BusinessKeyAnswer, BusinessKeySession, NewBusinessKey } from '../../ports/business-keys.ts'
import type { LogSession } from '../../ports/checkpoint-store.ts'
import type { AttemptCount, AttemptRecord, Conclusion } from '../../ports/conclusion.ts'
import type { BlockedKey, KeyOrderSession } from '../../ports/key-order.ts'
import type { MarkerAnswer, NewMarker } from '../../ports/markers.ts'
import type { Intent, IntentAnswer, Outgoing, OutgoingSession } from '../../ports/outgoing.ts'
import type { Position, Progress } from '../../ports/source.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import { SimulatedHandlerTransaction, type SimulatedTx } from './handler-transaction.ts'
import { heldKey } from './tables.ts'
import { blocked, type SimulatedDatabaseTransaction } from './transaction.ts'

/**
 * One batch's calls in one simulated transaction, with PostgreSQL's locking. An insert of a unique key waits
 * for the transaction that has inserted the same key. Several keys are inserted in sorted order, one by one.
 * The checkpoint's rows stay locked from `advance` to the end.
 */
export class SimulatedSession implements StoreSession<SimulatedTx> {
  readonly transaction: SimulatedDatabaseTransaction
  readonly #handlerTxs: SimulatedHandlerTransaction[] = []
  readonly businessKeys: BusinessKeySession = { insert: claims => this.#insertBusinessKeys(claims) }
  readonly keyOrder: KeyOrderSession = { blockedKeys: keys => this.#blockedKeys(keys) }
  readonly outgoing: OutgoingSession = {
    request: intents => this.#request(intents),
    publish: messages => this.#publish(messages),
  }
  readonly log: LogSession = {
    positions: partitions => this.#positions(partitions),
    advance: progress => this.#advance(progress),
  }

  constructor(transaction: SimulatedDatabaseTransaction) {
    this.transaction = transaction
  }

  end(): void {
    for (const handlerTx of this.#handlerTxs) handlerTx.revoke()
  }

  insertMarkers(claims: readonly NewMarker[]): Promise<readonly MarkerAnswer[]> {
    const { transaction } = this
    return this.#insert<NewMarker, MarkerAnswer>('claim', 'marker', claims, {
      keyOf: ({ id }) => id,
      find: ({ id, digest }) => {
        const marker = transaction.read('markers', id)
        if (marker === undefined) return null
        return { kind: 'seen', status: marker.status, sameDigest: marker.digest === digest.toString('hex') }
      },
      put: ({ id, digest }) => {
        transaction.write('markers', id, { digest: digest.toString('hex'), status: 'applied' })
        return { kind: 'first' }
      },
    })
  }

  #blockedKeys(keys: readonly string[]): Promise<ReadonlyMap<string, BlockedKey>> {
    const { transaction } = this
    return transaction.send(`which of ${keys} are blocked`, () => {
      const blocked = keys.filter(key => transaction.read('blocked', key) !== undefined)
      return new Map(blocked.map(key => [key, { released: false, waiting: 0 }]))
    })
  }

  /** Simulated parking lots are unbounded. */
  parkedTotal(): Promise<number> {
    return this.transaction.send('how many are parked', () => 0)
  }

  #insertBusinessKeys(claims: readonly NewBusinessKey[]): Promise<readonly BusinessKeyAnswer[]> {
    const { transaction } = this
    const hex = ({ digest }: NewBusinessKey) => digest?.toString('hex') ?? null
    return this.#insert<NewBusinessKey, BusinessKeyAnswer>('claim business keys', 'business', claims, {
      keyOf: ({ key }) => key,
      find: claim => {
        const taken = transaction.read('businessKeys', claim.key)
        if (taken === undefined) return null
        const digest = hex(claim)
        const sameDigest = digest === null || taken.digest === null || digest === taken.digest
        const status = transaction.read('markers', taken.id)?.status ?? null
        return { kind: 'seen', byId: taken.id, status, sameDigest, waiting: 0 }
      },
      put: claim => {
        transaction.write('businessKeys', claim.key, { id: claim.id, digest: hex(claim) })
        return { kind: 'first' }
      },
    })
  }

  handlerTransaction(): SimulatedHandlerTransaction {
    const handlerTx = new SimulatedHandlerTransaction(this.transaction)
    this.#handlerTxs.push(handlerTx)
    return handlerTx
  }

  #request(intents: readonly Intent[]): Promise<readonly IntentAnswer[]> {
    const { transaction } = this
    const nameOf = ({ target, key }: Intent) => `${target} ${key}`
    return this.#insert<Intent, IntentAnswer>('record intents', 'intent', intents, {
      keyOf: nameOf,
      find: intent => {
        const earlier = transaction.read('intents', nameOf(intent))
        if (earlier === undefined) return null
        return earlier.digest === intent.digest.toString('hex') ? 'suppressed duplicate' : 'conflict'
      },
      put: intent => {
        const { messageId: id, digest } = intent
        transaction.write('intents', nameOf(intent), { id, digest: digest.toString('hex') })
        return 'recorded'
      },
    })
  }

  #publish(messages: readonly Outgoing[]): Promise<void> {
    return this.transaction.send(`publish ${messages.map(({ messageId }) => messageId)}`, () => {})
  }

  countAttempts(failures: readonly AttemptRecord[]): Promise<readonly AttemptCount[]> {
    const { transaction } = this
    return transaction.send(`count attempts of ${failures.map(({ id }) => id)}`, () =>
      failures.map(({ id, failureClass }) => {
        const total = (transaction.read('attempts', id) ?? 0) + 1
        transaction.write('attempts', id, total)
        return { total, byClass: { [failureClass]: total }, same: total }
      }),
    )
  }

  conclude(conclusions: readonly Conclusion[]): Promise<void> {
    const label = `conclude ${conclusions.map(({ id, to }) => `${id ?? 'no id'} ${to}`).join(', ')}`
    let next = 0
    return this.transaction.send(label, () => {
      while (next < conclusions.length) {
        if (!this.#conclude(conclusions[next]!)) return blocked
        next++
      }
    })
  }

  #positions(partitions: readonly string[]): Promise<ReadonlyMap<string, Position>> {
    return this.transaction.send(`positions of ${partitions}`, () => {
      const found = new Map<string, Position>()
      for (const partition of partitions) {
        const stored = this.transaction.read('checkpoints', partition)?.stored
        if (stored != null) found.set(partition, stored)
      }
      return found
    })
  }

  #advance(progress: readonly Progress[]): Promise<void> {
    const sorted = progress.toSorted((a, b) => (a.partition < b.partition ? -1 : 1))
    const label = `advance ${sorted.map(({ partition, epoch, next }) => `${partition} (epoch ${epoch}) to ${next ?? 'where it is'}`).join(', ')}`
    return this.transaction.send(label, () => {
      for (const { partition } of sorted) {
        if (!this.transaction.lock(`checkpoint ${partition}`)) return blocked
      }
      return this.#moveFenced(sorted)
    })
  }

  #moveFenced(progress: readonly Progress[]): void {
    const { transaction } = this
    const row = ({ partition }: Progress) => transaction.read('checkpoints', partition)
    const lost = progress.filter(one => row(one)?.epoch !== one.epoch)
    if (lost.length > 0) throw fenced(true, lost)
    const moved = progress.filter(one => one.from !== null && row(one)?.stored?.next !== one.from)
    if (moved.length > 0) throw fenced(false, moved)
    this.move(progress)
  }

  /** The writes of `advance`, past its checks. */
  move(progress: readonly Progress[]): void {
    for (const one of progress) {
      this.transaction.progress.push(one)
      const { partition, incarnation, next } = one
      const row = this.transaction.read('checkpoints', partition)!
      if (next !== null)
        this.transaction.write('checkpoints', partition, { ...row, stored: { incarnation, next } })
    }
  }

  /** False when it has to wait. */
  #conclude({ id, digest: bytes, to, claimed, businessKey, held }: Conclusion): boolean {
    const { transaction } = this
    const digest = bytes.toString('hex')
    const key = heldKey(id, digest)
    if (held !== null && !transaction.lock(`held ${key}`)) return false
    if (held !== null && held.orderKey !== null && !transaction.lock(`blocked ${held.orderKey}`)) return false
    if (businessKey !== null) transaction.write('businessKeys', businessKey, null)
    if (claimed && id !== null) {
      transaction.write('markers', id, to === 'retry' ? null : { digest, status: to })
    }
    if (held === null) return true
    if (transaction.read('held', key) === undefined)
      transaction.write('held', key, { id, digest, state: held.state, code: held.code })
    if (held.orderKey !== null) transaction.write('blocked', held.orderKey, true)
    return true
  }

  /**
   * `insert … on conflict do nothing` in sorted order, then the existing rows; answers in the order of the
   * rows.
   */
  #insert<Row, Answer>(
    what: string,
    table: string,
    rows: readonly Row[],
    { keyOf, find, put }: Insertion<Row, Answer>,
  ): Promise<readonly Answer[]> {
    const { transaction } = this
    const sorted = rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    const answers = new Map<Row, Answer>()
    let next = 0
    return transaction.send(`${what} ${sorted.map(keyOf)}`, () => {
      while (next < sorted.length) {
        const row = sorted[next]!
        const found = find(row)
        if (found === null && !transaction.lock(`${table} ${keyOf(row)}`)) return blocked
        answers.set(row, found ?? put(row))
        next++
      }
      return rows.map(row => answers.get(row)!)
    })
  }
}

interface Insertion<Row, Answer> {
  readonly keyOf: (row: Row) => string
  /** The answer for a row that exists already. */
  readonly find: (row: Row) => Answer | null
  readonly put: (row: Row) => Answer
}

function fenced(isLost: boolean, progress: readonly Progress[]): OncewardError {
  const partitions = progress.map(one => one.partition)
  const what = isLost ? 'another owner' : 'elsewhere'
  return new OncewardError(
    isLost ? 'ownership_lost' : 'position_moved',
    `${partitions.join(', ')}: ${what}. Nothing was committed.`,
    { details: { partitions } },
  )
}
