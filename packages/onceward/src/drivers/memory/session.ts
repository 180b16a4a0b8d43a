import { OncewardError } from '../../errors.ts'
import type { BusinessKeyAnswer, BusinessKeySession, NewBusinessKey } from '../../ports/business-keys.ts'
import type { LogSession } from '../../ports/checkpoint-store.ts'
import type { AttemptCount, AttemptRecord, Conclusion } from '../../ports/conclusion.ts'
import type { Enrolment } from '../../ports/enrolment.ts'
import type { EvidenceNote, EvidenceSession } from '../../ports/evidence.ts'
import type { HandlerTransaction } from '../../ports/handler-transaction.ts'
import type { HeldRecord } from '../../ports/held-record.ts'
import type { BlockedKey, KeyOrderSession } from '../../ports/key-order.ts'
import type { MarkerAnswer, NewMarker } from '../../ports/markers.ts'
import type { Intent, IntentAnswer, OutgoingSession } from '../../ports/outgoing.ts'
import type { Loss, Ownership, Position, Progress } from '../../ports/source.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { SuspectSession } from '../../ports/suspects.ts'
import { type EarlierAttempts, processDied } from '../../ports/suspects.ts'
import { synchronousHandle } from '../../ports/synchronous-handle.ts'

import type { MemoryState, MemoryTransaction } from './state.ts'
/** One transaction: works on its copy of the state. */
export class MemorySession implements StoreSession<MemoryTransaction> {
  readonly #state: MemoryState
  readonly #scope: string
  /** Intents belong to the name alone: a new generation must not request the effect again. */
  readonly #name: string
  readonly #runId: number
  readonly #handlerTxs: HandlerTransaction<MemoryTransaction>[] = []
  readonly businessKeys: BusinessKeySession = { insert: async claims => this.#insertBusinessKeys(claims) }
  readonly keyOrder: KeyOrderSession = { blockedKeys: async keys => this.#blockedKeys(keys) }
  readonly outgoing: OutgoingSession = {
    request: async intents => intents.map(intent => this.#request(intent)),
    publish: async messages => void this.#state.outbox.push(...messages),
  }
  readonly log: LogSession = {
    positions: async partitions => this.#positions(partitions),
    advance: async progress => this.#advance(progress),
  }
  readonly evidence: EvidenceSession = {
    note: async notes => this.#noteEvidence(notes),
    isApplied: async (id, consumer) => this.#isApplied(id, consumer),
  }
  /** Markers of this transaction. */
  readonly #inserted = new Set<string>()
  readonly suspects: SuspectSession = { withdrawAttempts: async ids => this.#withdrawAttempts(ids) }

  constructor(state: MemoryState, { facts: { name, generation }, runId }: Enrolment) {
    this.#state = state
    this.#runId = runId
    this.#scope = `${name}/${generation}`
    this.#name = name
  }

  end(): void {
    for (const handlerTx of this.#handlerTxs) handlerTx.revoke()
  }

  async insertMarkers(claims: readonly NewMarker[]): Promise<readonly MarkerAnswer[]> {
    return claims.map(({ id, digest, formerDigest }) => {
      const marker = this.#state.markers.get(this.#key(id))
      if (marker !== undefined) {
        const sameDigest = digest.equals(marker.digest) || formerDigest?.equals(marker.digest) === true
        return { kind: 'seen', status: marker.status, sameDigest }
      }
      this.#state.markers.set(this.#key(id), { digest, status: 'applied' })
      this.#inserted.add(this.#key(id))
      return { kind: 'first' }
    })
  }

  #noteEvidence(notes: readonly EvidenceNote[]): void {
    for (const { messageId, name, detail } of notes) {
      const key = `${this.#key(messageId)}\0${name}`
      if (!this.#state.evidence.has(key)) this.#state.evidence.set(key, detail)
    }
  }

  #isApplied(id: string, consumer: string): boolean {
    const found = [...this.#state.markers].filter(
      ([key, { status }]) =>
        status === 'applied' &&
        !this.#inserted.has(key) &&
        key.startsWith(`${consumer}/`) &&
        key.endsWith(`\0${id}`),
    )
    return found.length > 0
  }

  #blockedKeys(keys: readonly string[]): ReadonlyMap<string, BlockedKey> {
    const blocked = keys.filter(key => this.#state.blocked.has(this.#key(key)))
    return new Map(blocked.map(key => [key, { released: false, waiting: this.#behind(key) }]))
  }

  async parkedTotal(): Promise<number> {
    const mine = [...this.#state.held].filter(([key]) => key.startsWith(`${this.#scope}\0`))
    return mine.filter(([, { state }]) => state === 'parked').length
  }

  #insertBusinessKeys(claims: readonly NewBusinessKey[]): readonly BusinessKeyAnswer[] {
    return claims.map(({ key, digest, id }) => {
      const taken = this.#state.businessKeys.get(this.#key(key))
      if (taken === undefined) {
        this.#state.businessKeys.set(this.#key(key), { id, digest })
        return { kind: 'first' }
      }
      const sameDigest = digest === null || taken.digest === null || digest.equals(taken.digest)
      const status = this.#state.markers.get(this.#key(taken.id))?.status ?? null
      return { kind: 'seen', byId: taken.id, status, sameDigest, waiting: this.#waiting(key) }
    })
  }

  handlerTransaction(): HandlerTransaction<MemoryTransaction> {
    const handlerTx = memoryHandle(this.#state.data)
    this.#handlerTxs.push(handlerTx)
    return handlerTx
  }

  #request(intent: Intent): IntentAnswer {
    const key = `${this.#name}\0${intent.target}\0${intent.key}`
    const earlier = this.#state.intents.get(key)
    if (earlier !== undefined)
      return earlier.digest.equals(intent.digest) ? 'suppressed duplicate' : 'conflict'
    this.#state.intents.set(key, intent)
    return 'recorded'
  }

  async countAttempts(failures: readonly AttemptRecord[]): Promise<readonly AttemptCount[]> {
    return failures.map(failure => {
      const all = [...(this.#state.attempts.get(this.#key(failure.id)) ?? []), failure]
      this.#state.attempts.set(this.#key(failure.id), all)
      const byClass: Record<string, number> = {}
      for (const { failureClass } of all) byClass[failureClass] = (byClass[failureClass] ?? 0) + 1
      const alike = (one: AttemptRecord) =>
        one.failureClass === failure.failureClass && one.code === failure.code && one.place === failure.place
      return { total: all.length, byClass, same: all.filter(alike).length }
    })
  }

  beginAttempt(id: string, attemptsMax: number): EarlierAttempts {
    const all = this.#state.attempts.get(this.#key(id)) ?? []
    const earlier = all.filter(({ code, runId }) => code !== processDied || runId !== this.#runId)
    const deaths = earlier.filter(({ code }) => code === processDied).length
    const begun = {
      id,
      failureClass: 'poison',
      code: processDied,
      error: 'its process crashed while handling it',
      place: '',
    }
    if (earlier.length === all.length && (earlier.length < attemptsMax || deaths === 0))
      this.#state.attempts.set(this.#key(id), [...earlier, { ...begun, runId: this.#runId }])
    return { attempts: earlier.length, deaths }
  }

  beginGroup(ids: readonly string[], size: number): void {
    for (const id of ids) {
      const known = this.#state.groups.get(this.#key(id))
      this.#state.groups.set(this.#key(id), new Map([...(known ?? []), [this.#runId, size]]))
    }
  }

  groupLimits(ids: readonly string[], isClosed: (runId: number) => boolean): ReadonlyMap<string, number> {
    const limits = new Map<string, number>()
    for (const id of ids) {
      const groups = [...(this.#state.groups.get(this.#key(id)) ?? [])].filter(([runId]) => !isClosed(runId))
      const attempts = this.#state.attempts.get(this.#key(id)) ?? []
      const died = [
        ...groups.filter(([runId]) => runId !== this.#runId).map(([, size]) => Math.floor(size / 2)),
        ...attempts.filter(one => one.code === processDied && one.runId !== this.#runId).map(() => 1),
      ]
      if (died.length > 0) limits.set(id, Math.max(1, Math.min(...died)))
    }
    return limits
  }

  #withdrawAttempts(ids: readonly string[]): void {
    for (const id of ids) {
      const groups = [...(this.#state.groups.get(this.#key(id)) ?? [])].filter(
        ([runId]) => runId !== this.#runId,
      )
      if (groups.length > 0) this.#state.groups.set(this.#key(id), new Map(groups))
      else this.#state.groups.delete(this.#key(id))
      const left = (this.#state.attempts.get(this.#key(id)) ?? []).filter(
        ({ runId }) => runId !== this.#runId,
      )
      if (left.length > 0) this.#state.attempts.set(this.#key(id), left)
      else this.#state.attempts.delete(this.#key(id))
    }
  }

  async conclude(conclusions: readonly Conclusion[]): Promise<void> {
    for (const { id, digest, to, claimed, businessKey, held } of conclusions) {
      if (businessKey !== null) this.#state.businessKeys.delete(this.#key(businessKey))
      if (claimed && id !== null) {
        if (to === 'retry') this.#state.markers.delete(this.#key(id))
        else this.#state.markers.set(this.#key(id), { digest, status: to })
      }
      if (held !== null) this.#hold(id, digest, held)
    }
  }

  take(partitions: readonly string[]): readonly Ownership[] {
    return partitions.map(partition => {
      const row = this.#state.checkpoints.get(this.#key(partition))
      const epoch = (row?.epoch ?? 0) + 1
      const stored = row?.stored ?? null
      this.#state.checkpoints.set(this.#key(partition), { epoch, runId: this.#runId, stored })
      const lost = [...this.#state.losses].findLast(([key]) => key.startsWith(this.#key(`${partition}\0`)))
      const openLoss = lost && {
        from: lost[1].from,
        to: lost[1].to,
        declaredMs: lost[1].declaredMs,
        accepted: false,
        reason: lost[1].reason,
      }
      const ownership = { partition, epoch, lastRun: row?.runId ?? null, stored, resumeAt: null }
      return openLoss === undefined ? ownership : { ...ownership, openLoss }
    })
  }

  lose(loss: Loss): void {
    const key = this.#lossKey(loss.partition, loss.from)
    const declaredMs = this.#state.losses.get(key)?.declaredMs ?? Date.now()
    this.#state.losses.set(key, { ...loss, declaredMs })
  }

  withdraw(partition: string, from: Position): void {
    this.#state.losses.delete(this.#lossKey(partition, from))
  }

  #lossKey(partition: string, { incarnation, next }: Position): string {
    return this.#key(`${partition}\0${incarnation}\0${next}`)
  }

  #positions(partitions: readonly string[]): ReadonlyMap<string, Position> {
    const found = new Map<string, Position>()
    for (const partition of partitions) {
      const stored = this.#state.checkpoints.get(this.#key(partition))?.stored
      if (stored != null) found.set(partition, stored)
    }
    return found
  }

  #advance(progress: readonly Progress[]): void {
    const lost = progress.filter(one => this.#checkpoint(one)?.epoch !== one.epoch)
    if (lost.length > 0) throw fenced('ownership_lost', lost)
    const moved = progress.filter(
      one => one.from !== null && this.#checkpoint(one)?.stored?.next !== one.from,
    )
    if (moved.length > 0) throw fenced('position_moved', moved)
    for (const { partition, epoch, incarnation, next } of progress) {
      if (next !== null)
        this.#state.checkpoints.set(this.#key(partition), {
          epoch,
          runId: this.#runId,
          stored: { incarnation, next },
        })
    }
  }

  #behind(key: string): number {
    const mine = [...this.#state.held].filter(([place]) => place.startsWith(`${this.#scope}\0`))
    return mine.filter(([, { orderKey, code }]) => orderKey === key && code === 'behind_parked').length
  }

  #waiting(businessKey: string): number {
    const mine = [...this.#state.held].filter(([place]) => place.startsWith(`${this.#scope}\0`))
    return mine.filter(([, held]) => held.businessKey === businessKey && held.keyless).length
  }

  #checkpoint({ partition }: Progress) {
    return this.#state.checkpoints.get(this.#key(partition))
  }

  #hold(id: string | null, digest: Buffer, held: HeldRecord): void {
    const key = this.#key(JSON.stringify([id, digest.toString('hex')]))
    const earlier = this.#state.held.get(key)
    this.#state.held.set(
      key,
      earlier ? { ...earlier, seen: earlier.seen + 1 } : { ...held, id, digest, seen: 1 },
    )
    if (held.orderKey !== null && (held.state === 'parked' || held.state === 'quarantined'))
      this.#state.blocked.add(this.#key(held.orderKey))
  }

  #key(name: string): string {
    return `${this.#scope}\0${name}`
  }
}

function fenced(code: 'ownership_lost' | 'position_moved', progress: readonly Progress[]): OncewardError {
  const partitions = progress.map(one => one.partition)
  return new OncewardError(code, `${code}: ${partitions.join(', ')}. Nothing was committed.`, {
    details: { partitions },
  })
}

/** A handle on the data: every use of `tx` counts as a statement. */
function memoryHandle(data: MemoryTransaction): HandlerTransaction<MemoryTransaction> {
  return synchronousHandle(
    send =>
      new Proxy(data, {
        get: (target, name) =>
          send(() => {
            const value = Reflect.get(target, name, target)
            return typeof value === 'function' ? value.bind(target) : value
          }),
      }),
  )
}
