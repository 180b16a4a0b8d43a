import type { CommitWatcher, SimulatedDatabase } from './database.ts'
import type { SimulatedJob } from './job.ts'
import type { OffsetWatcher } from './log.ts'
import { type AckWatcher, type Publication, publicationName } from './publication.ts'
import { attemptsMax, type Scenario } from './scenarios.ts'
import { type CheckpointRow, type EffectRow, heldKey, type MarkerRow } from './tables.ts'
import type { SimulatedDatabaseTransaction } from './transaction.ts'
import type { Workload } from './workload.ts'

/** The invariants of every state that a schedule passes through. */
export type InvariantName =
  | 'acked means terminal'
  | 'checkpoint behind the lowest unfinished'
  | 'marker and effect together'
  | 'one digest per id'
  | 'one effect per message'
  | 'one effect per business key'
  | 'no write under a stale epoch'
  | 'order'
  | 'attempts within budget'
  | 'held work is stored'
  | 'intent and effect together'
  | 'nothing halts'
  | 'everything terminal'
  | 'the backlog drains'
  | 'a drain ends'

export interface Broken {
  readonly invariant: InvariantName
  readonly what: string
}

/**
 * Checks every commit and every acknowledgement, the only steps that others can see. Keeps the first
 * violation.
 */
export class Invariants implements CommitWatcher, AckWatcher, OffsetWatcher {
  readonly #database: SimulatedDatabase
  readonly #workload: Workload
  readonly #scenario: Scenario
  readonly #jobs: ReadonlyMap<string, SimulatedJob>
  readonly #effects = new Map<string, EffectRow[]>()
  readonly #business = new Map<string, EffectRow>()
  readonly #lastOfLane = new Map<string, number>()
  readonly #positions = new Set<string>()
  broken: Broken | null = null
  /** On logs: the records that a position covers. */
  recordsBefore: (partition: string, offset: number) => readonly Publication[] = () => []

  constructor(database: SimulatedDatabase, workload: Workload, scenario: Scenario) {
    this.#database = database
    this.#workload = workload
    this.#scenario = scenario
    this.#jobs = new Map(workload.jobs.map(job => [job.id, job]))
  }

  breach(invariant: InvariantName, what: string): void {
    this.broken ??= { invariant, what }
  }

  committing({ writes, progress }: SimulatedDatabaseTransaction): void {
    const { markers, checkpoints } = this.#database.tables
    for (const [id, row] of (writes.get('markers') ?? []) as Iterable<[string, MarkerRow | null]>) {
      const before = markers.get(id)
      if (before === undefined) continue
      if (row === null) this.breach('marker and effect together', `the committed marker of ${id} is removed`)
      else if (row.digest !== before.digest)
        this.breach('one digest per id', `${id} is stored with other bytes than before`)
      else this.breach('marker and effect together', `the committed marker of ${id} changes to ${row.status}`)
    }
    for (const { partition, epoch } of progress) {
      const now = checkpoints.get(partition)?.epoch
      if (now !== epoch)
        this.breach(
          'no write under a stale epoch',
          `${partition} is at epoch ${now}, a commit carries ${epoch}`,
        )
    }
  }

  committed({ effects, writes }: SimulatedDatabaseTransaction): void {
    for (const effect of effects) this.#sawEffect(effect)
    for (const effect of effects) this.#checkOrder(effect)
    for (const id of writes.get('markers')?.keys() ?? []) this.#checkMarker(id)
    for (const { id } of effects) this.#checkMarker(id)
    for (const [partition, row] of (writes.get('checkpoints') ?? []) as Iterable<[string, CheckpointRow]>) {
      if (row.stored !== null) this.passed(this.recordsBefore(partition, Number(row.stored.next)))
    }
    for (const [id, count] of (writes.get('attempts') ?? []) as Iterable<[string, number]>) {
      if (count > attemptsMax) this.breach('attempts within budget', `${id} was tried ${count} times`)
    }
    for (const [, intent] of (writes.get('intents') ?? []) as Iterable<[string, { id: string }]>) {
      if (this.effectsOf(intent.id) === 0)
        this.breach('intent and effect together', `an intent of ${intent.id}, no effect`)
    }
  }

  passed(publications: readonly Publication[]): void {
    for (const publication of publications) {
      if (!this.isTerminal(publication))
        this.breach(
          'checkpoint behind the lowest unfinished',
          `${publicationName(publication)} at ${publication.position} is passed, nothing is stored`,
        )
    }
  }

  acked(publication: Publication): void {
    if (!this.isTerminal(publication))
      this.breach(
        'acked means terminal',
        `${publicationName(publication)} was acknowledged, nothing is stored`,
      )
  }

  effectsOf(id: string): number {
    return this.#effects.get(id)?.length ?? 0
  }

  /** Everything the consumer owes these bytes is committed. */
  isTerminal({ id, digest, position }: Publication): boolean {
    const { markers, held } = this.#database.tables
    if (held.has(heldKey(id, digest))) return true
    if (this.#scenario.dedup === 'checkpoint')
      return this.#positions.has(position!) || this.#jobs.get(id!)!.plan === 'ignore'
    return id !== null && markers.get(id)?.digest === digest
  }

  #sawEffect(effect: EffectRow): void {
    const { id } = effect
    const before = this.#effects.get(id)
    if (before !== undefined) this.breach('one effect per message', `${id} is applied a second time`)
    this.#effects.set(id, [...(before ?? []), effect])
    if (effect.position !== null) this.#positions.add(effect.position)
    const business = this.#jobs.get(id)!.business
    if (business === null || before !== undefined) return
    const other = this.#business.get(business)
    if (other !== undefined)
      this.breach('one effect per business key', `${business} is applied by ${other.id} and by ${id}`)
    this.#business.set(business, effect)
  }

  #checkMarker(id: string): void {
    if (this.#scenario.dedup === 'checkpoint') return
    const marker = this.#database.tables.markers.get(id)
    const effects = this.#effects.get(id) ?? []
    if (marker === undefined) {
      if (effects.length > 0) this.breach('marker and effect together', `effect of ${id} without a marker`)
      return
    }
    const { status, digest } = marker
    if (status === 'applied' && effects.length === 0)
      this.breach('marker and effect together', `marker of ${id} without an effect`)
    if (status !== 'applied' && effects.length > 0)
      this.breach('marker and effect together', `${id} is ${status} and has an effect`)
    if (effects.some(({ version }) => this.#workload.digest(id, version) !== digest))
      this.breach('one digest per id', `the effect of ${id} comes of other bytes than its marker`)
    const isHeld = status === 'parked' || status === 'dead' || status === 'quarantined'
    if (isHeld && !this.#database.tables.held.has(heldKey(id, digest)))
      this.breach('held work is stored', `${id} is ${status}, its bytes are nowhere`)
  }

  /** Everything before it in its lane has an outcome, and none that blocks the lane. */
  #checkOrder(effect: EffectRow): void {
    if (this.#scenario.order === 'key') this.#checkKeyOrder(effect.id)
    if (this.#scenario.order === 'partition') this.#checkPartitionOrder(effect)
  }

  #checkKeyOrder(id: string): void {
    const { key } = this.#jobs.get(id)!
    const mine = this.#workload.firstOf(id)
    this.#checkLane(id, key, mine)
    for (const job of this.#workload.jobs) {
      if (job.key !== key || this.#workload.firstOf(job.id) >= mine) continue
      const marker = this.#database.tables.markers.get(job.id)
      if (marker === undefined) this.breach('order', `${id} is applied before ${job.id} of ${key}`)
      else if (marker.status === 'parked')
        this.breach('order', `${id} is applied, ${job.id} of ${key} is parked`)
    }
  }

  #checkPartitionOrder({ id, position }: EffectRow): void {
    const [partition, offset] = position!.split('@') as [string, string]
    this.#checkLane(id, partition, Number(offset))
    for (const publication of this.recordsBefore(partition, Number(offset))) {
      if (!this.isTerminal(publication))
        this.breach('order', `${id} at ${position} is applied before ${publicationName(publication)}`)
    }
  }

  #checkLane(id: string, lane: string, place: number): void {
    if (place < (this.#lastOfLane.get(lane) ?? -1)) this.breach('order', `${id} is applied late in ${lane}`)
    this.#lastOfLane.set(lane, place)
  }
}
