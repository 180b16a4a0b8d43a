import { errorCode, errorText, OncewardError } from '../../errors.ts'
import type { Page } from '../../ports/range-reader.ts'
import type { OpenLoss, OpenOptions, Ownership, Position } from '../../ports/source.ts'
import type { LogSubscription } from './log-subscription.ts'
import { goesBack, isDeclaredAt, stillLost, withdrawLossAt } from './open-loss.ts'
import { PartitionProgress } from './partition-progress.ts'
import { Pause } from './pause.ts'
import type { PullOptions, PullReader } from './pull-source.ts'

export interface PulledPartitionOptions {
  readonly partition: string
  readonly subscription: LogSubscription
  readonly reader: PullReader
  readonly pull: PullOptions
  readonly options: OpenOptions
  /** Writes the position to the store unless it is there; false when the partition is gone. */
  readonly store: (progress: PartitionProgress) => Promise<boolean>
  /** Called whenever this partition has reached its end. */
  readonly onEnd: () => void
}

const pollMinMs = 20
const retryMaxMs = 10_000

/**
 * One partition of a pull source:
 *
 *   taking ──▶ reading ──▶ at the end ──▶ reading …
 *      ▲          └─ ownership refused ─▶ standing by ──┐
 *      └───────────────────────────────────────────────────┘
 *
 * When a log continues in another incarnation, everything of the old one is settled first: a position belongs
 * to one incarnation.
 */
export class PulledPartition {
  readonly #given: PulledPartitionOptions
  readonly #pause: Pause
  #running: Promise<void> = Promise.resolve()
  #closed = false
  /** Records known to exist after the last one read; null while unknown. */
  unread: number | null = null
  ended = false

  constructor(given: PulledPartitionOptions) {
    this.#given = given
    this.#pause = new Pause(given.pull.env.timers)
  }

  start(): void {
    this.#running = this.#run().catch(error => this.#given.subscription.fail(error))
  }

  wake(): void {
    this.#pause.wake()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.wake()
    await this.#running
  }

  async #run(): Promise<void> {
    const { partition, options, pull } = this.#given
    while (!this.#closed) {
      await this.#own().catch(error => {
        if (!this.#closed && errorCode(error) !== 'ownership_lost') throw error
      })
      if (this.#closed) return
      options.onEvent({ kind: 'revoked', partitions: [partition], reason: 'another process reads it' })
      const { standbyMs = 60_000, env } = pull
      await this.#rest(standbyMs * (0.75 + env.random() / 2))
    }
  }

  /** Returns when the partition is lost. */
  async #own(): Promise<void> {
    const { partition, subscription, options } = this.#given
    const [ownership] = await options.log.checkpoints.take([partition])
    if (this.#closed) return
    let position = await this.#start(ownership!)
    options.onEvent({ kind: 'assigned', partitions: [partition], reason: 'taken' })
    for (;;) {
      const progress = new PartitionProgress(partition, ownership!.epoch, position)
      subscription.own(progress)
      const to = await this.#read(progress, ownership!)
      if (to === null) return
      await options.log.checkpoints.begin(partition, ownership!.epoch, to)
      subscription.drop(partition)
      position = to
      // A reader that moves in circles is slow, not endless.
      await this.#pause.wait(pollMinMs)
      if (this.#closed) return
    }
  }

  async #start(ownership: Ownership): Promise<Position> {
    const { partition, epoch, stored, resumeAt } = ownership
    if (stored !== null && resumeAt === null) return stored
    const { reader, options } = this.#given
    const { checkpoints } = options.log
    const found = await this.#findLost(ownership)
    if (found !== null) await withdrawLossAt(checkpoints, ownership, found, { isSameLog: false })
    const position = found ?? resumeAt ?? (await this.#persist(() => reader.begin(partition)))
    await checkpoints.begin(partition, epoch, position)
    return position
  }

  /** The position of an accepted loss whose records are there after all; null when they are not. */
  async #findLost({ partition, openLoss }: Ownership): Promise<Position | null> {
    if (!openLoss?.accepted || goesBack(openLoss)) return null
    for (;;) {
      const page = await this.#persist(() => this.#given.reader.read(partition, openLoss.from))
      if (page.kind !== 'records' || page.mayEnd !== true) return page.kind === 'lost' ? null : openLoss.from
      await this.#rest(pollMinMs)
      if (this.#closed) throw new Error(`${partition} was closed before its loss was looked at again`)
    }
  }

  /**
   * Offers the records that arrive. Returns where the log continues in another incarnation, or null when the
   * partition is gone.
   */
  async #read(progress: PartitionProgress, ownership: Ownership): Promise<Position | null> {
    const { partition, subscription, reader, pull, options } = this.#given
    const first = progress.position
    const { pollMaxMs = 1_000 } = pull
    let { position: cursor } = progress
    let delayMs = pollMinMs
    while (progress.live && !this.#closed) {
      if (!subscription.wants(partition)) {
        await this.#pause.wait(pollMaxMs)
        continue
      }
      const from = { incarnation: progress.incarnation, next: cursor }
      const page = await this.#persist(() => reader.read(partition, from))
      if (!progress.live || this.#closed) return null
      // What was read and not settled may not exist anywhere any more, so it is part of the loss.
      if (page.kind === 'lost') await this.#lose({ ...from, next: progress.position }, page)
      if (cursor === first && isUnaccepted(ownership.openLoss, from))
        await this.#lose(from, { kind: 'lost', ...stillLost(partition, ownership.openLoss) })
      // An accepted loss is closed by the start.
      if (cursor === first && !ownership.openLoss?.accepted)
        await withdrawLossAt(options.log.checkpoints, ownership, from, { isSameLog: false })
      if (page.kind === 'lost') continue
      if (page.kind === 'moved') {
        if (progress.position === cursor) return page.to
        await this.#pause.wait(delayMs)
      } else {
        subscription.offer(progress, page.records, page.next)
        cursor = page.next
        this.unread = page.behind
        delayMs = page.records.length > 0 ? pollMinMs : Math.min(pollMaxMs, delayMs * 2)
        if (!page.atEnd) continue
        if (progress.position === cursor) await this.#end(progress)
        await this.#pause.wait(delayMs * (0.75 + pull.env.random() / 2))
      }
    }
    return null
  }

  /** Records at the end that were not delivered moved the position, and no batch has stored it. */
  async #end(progress: PartitionProgress): Promise<void> {
    if (this.#given.pull.until !== 'end' || this.ended) return
    if (!(await this.#given.store(progress))) return
    this.ended = true
    this.#given.onEnd()
  }

  async #lose(from: Position, { to, records, reason }: Extract<Page, { kind: 'lost' }>): Promise<never> {
    const { partition, options } = this.#given
    await options.log.checkpoints.declareLoss({ partition, from, to, records, reason })
    throw new OncewardError(
      'records_lost',
      `${partition}: ${reason}. The loss is recorded and nothing was skipped; accept it to continue.`,
      { details: { partition } },
    )
  }

  /** Retries for as long as it fails, with growing delays. */
  async #persist<T>(call: () => Promise<T>): Promise<T> {
    for (let delayMs = 100; ; delayMs = Math.min(retryMaxMs, delayMs * 2)) {
      try {
        return await call()
      } catch (error) {
        if (this.#closed || errorCode(error) === 'configuration') throw error
        const { partition, options } = this.#given
        options.onEvent({ kind: 'warning', reason: `${partition}: ${errorText(error)}` })
        await this.#rest(delayMs)
        if (this.#closed) throw error
      }
    }
  }

  /** A wait that hints do not end. */
  async #rest(delayMs: number): Promise<void> {
    const { clock } = this.#given.pull.env
    const end = clock.nowMs() + delayMs
    for (let left = delayMs; left > 0 && !this.#closed; left = end - clock.nowMs())
      await this.#pause.wait(left)
  }
}

/** The log did not have the position then, and no evidence shows that it now holds the same records there. */
function isUnaccepted(openLoss: OpenLoss | undefined, at: Position): openLoss is OpenLoss {
  return isDeclaredAt(openLoss, at) && !openLoss.accepted && goesBack(openLoss)
}
