import assert from 'node:assert/strict'
import { LogSubscription } from '../../src/drivers/log/log-subscription.ts'
import { type Entry, PartitionProgress } from '../../src/drivers/log/partition-progress.ts'
import type { LogRecord } from '../../src/ports/log-record.ts'
import type { Delivery } from '../../src/ports/source.ts'
import { logOptions } from '../../src/testing/memory-checkpoints.ts'

interface Log {
  epoch: number
  end: number
  offered: number[]
  handed: number[]
}

/** A subscription fed by hand, with a model of what it may have handed over. */
export class LogBench {
  readonly subscription: LogSubscription
  /** Handed over, not settled, and still ours. */
  held: Delivery[] = []
  readonly dead: Delivery[] = []
  readonly everything: Delivery[] = []
  readonly told = new Map<string, number>()
  rooms = 0
  readonly #logs: Log[] = []
  readonly #limits: { readonly inFlightMax: number; readonly inFlightBytesMax: number }
  #receiving: Promise<void> | null = null

  constructor(
    partitions: number,
    limits: { readonly inFlightMax: number; readonly inFlightBytesMax: number },
  ) {
    this.#limits = limits
    this.subscription = new LogSubscription(
      { ...limits, log: logOptions() },
      {
        origin: 'unit',
        commit: async moved => {
          for (const progress of moved) this.#tell(progress)
          return { missed: 0 }
        },
        onRoom: () => void this.rooms++,
        behind: () => null,
        close: async () => {},
      },
    )
    for (let index = 0; index < partitions; index++) {
      this.#logs.push({ epoch: 0, end: 0, offered: [], handed: [] })
      this.#own(index)
    }
  }

  name(index: number): string {
    return `p${index}`
  }

  end(index: number): number {
    return this.#logs[index]!.end
  }

  offer(index: number, sizes: readonly number[], gap: number): void {
    const log = this.#logs[index]!
    const progress = this.subscription.progressOf(this.name(index))
    if (progress === undefined || !this.subscription.wants(this.name(index))) return
    const records = sizes.map(size => {
      const at = log.end++
      log.offered.push(at)
      return recordOf(at, size)
    })
    log.end += gap
    this.subscription.offer(progress, records, String(log.end))
  }

  /** Takes what can be had now; a receive that waits stays outstanding. */
  async receive(max: number): Promise<void> {
    this.#receiving ??= this.subscription.receive(max).then(deliveries => {
      this.#receiving = null
      assert.ok(deliveries.length > 0 && deliveries.length <= max)
      for (const delivery of deliveries) this.#hand(delivery)
    })
    await turn()
  }

  async settle(deliveries: readonly Delivery[]): Promise<void> {
    const going = new Set(deliveries)
    this.held = this.held.filter(delivery => !going.has(delivery))
    assert.deepEqual(await this.subscription.settle(deliveries), { missed: 0 })
    await turn()
  }

  /** A reproducible choice among what is held. */
  some(seed: number, count: number): Delivery[] {
    const chosen = new Set<Delivery>()
    for (let index = 0; index < Math.min(count, this.held.length); index++)
      chosen.add(this.held[(seed * 7 + index * 13) % this.held.length]!)
    return [...chosen]
  }

  /** Another owner takes the partition. */
  lose(index: number): void {
    const name = this.name(index)
    const gone = this.held.filter(({ partition }) => partition === name)
    this.held = this.held.filter(({ partition }) => partition !== name)
    this.dead.push(...gone)
    this.subscription.disown([name])
  }

  gain(index: number): void {
    if (this.subscription.progressOf(this.name(index)) === undefined) this.#own(index)
  }

  /** Settles everything as it comes until nothing more does. */
  async drain(): Promise<void> {
    for (let idle = 0; idle < 3; idle = this.held.length === 0 ? idle + 1 : 0) {
      await this.settle([...this.held])
      await this.receive(1_000)
    }
  }

  /** Settles only what is wanted, until that many of it came. */
  async until(wanted: (delivery: Delivery) => boolean, count: number): Promise<void> {
    let seen = 0
    for (let round = 0; seen < count; round++) {
      assert.ok(round < 10, 'starved')
      await this.receive(1_000)
      const mine = this.held.filter(wanted)
      seen += mine.length
      await this.settle(mine)
    }
  }

  assertSound(): void {
    const { inFlightMax, inFlightBytesMax } = this.#limits
    const bytes = this.held.reduce((sum, { body }) => sum + body.length, 0)
    assert.ok(this.held.length <= inFlightMax, `${this.held.length} held, allowed ${inFlightMax}`)
    assert.ok(
      bytes <= inFlightBytesMax || this.held.length === 1,
      `${bytes} bytes held, allowed ${inFlightBytesMax}`,
    )
    for (const log of this.#logs) {
      assert.deepEqual(
        log.handed,
        log.offered.slice(0, log.handed.length),
        'handed over in order, without holes',
      )
    }
    for (const delivery of this.dead) assert.equal(this.subscription.isLive(delivery), false)
    for (const progress of this.subscription.partitions) this.#assertPosition(progress)
  }

  assertAllHanded(): void {
    for (const log of this.#logs) assert.deepEqual(log.handed, log.offered)
  }

  #own(index: number): void {
    const log = this.#logs[index]!
    log.epoch++
    log.offered = []
    log.handed = []
    this.told.delete(this.name(index))
    this.subscription.own(
      new PartitionProgress(this.name(index), log.epoch, { incarnation: 'one', next: String(log.end) }),
    )
  }

  #hand(delivery: Delivery): void {
    const log = this.#logs[Number(delivery.partition.slice(1))]!
    assert.equal(delivery.place!.epoch, log.epoch, 'a record of an ownership that ended')
    log.handed.push(Number(delivery.place!.at))
    this.held.push(delivery)
    this.everything.push(delivery)
    assert.equal(this.subscription.isLive(delivery), true)
  }

  #tell(progress: PartitionProgress): void {
    const position = Number(progress.position)
    assert.ok(position > (this.told.get(progress.partition) ?? -1), 'told a position that is not new')
    assert.equal(progress.live, true)
    this.#assertPosition(progress)
    this.told.set(progress.partition, position)
  }

  #assertPosition(progress: PartitionProgress): void {
    const mine = this.held.filter(({ partition }) => partition === progress.partition)
    const lowest = Math.min(...mine.map(({ place }) => Number(place!.at)))
    assert.ok(Number(progress.position) <= lowest, 'the position is past an unfinished record')
    for (const { token } of this.dead) assert.notEqual((token as Entry).progress, progress)
  }
}

export function recordOf(at: number, size: number): LogRecord {
  return {
    body: Buffer.alloc(size),
    headers: {},
    properties: {},
    key: null,
    at: String(at),
    next: String(at + 1),
    position: `unit@${at}`,
    redelivered: false,
  }
}

/** Nothing here waits for more than promises. */
const turn = () => new Promise<void>(resolve => setImmediate(resolve))
