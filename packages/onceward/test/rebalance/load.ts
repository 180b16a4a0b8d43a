import { setTimeout as pause } from 'node:timers/promises'
import type { TestKafka } from '../kafka/fixture.ts'
import type { WorkEvent } from './work.ts'

export interface LoadedRecord {
  readonly partition: number
  readonly offset: number
  readonly id: string
}

const burst = 15
const pauseMs = 100
const keys = 40

/** A producer that goes on until it is stopped: histories of forty keys, spread by key, confirmed. */
export class Load {
  readonly #kafka: TestKafka
  readonly #topic: string
  readonly #partitions: number
  readonly #repeats: boolean
  readonly #events: WorkEvent[] = []
  readonly #seqs = new Map<number, number>()
  /** In order of the log, by partition. */
  readonly records: readonly LoadedRecord[][]
  #stopped = false
  #running: Promise<void> = Promise.resolve()

  /** `repeats`: now and then an event is sent a second time. */
  constructor(kafka: TestKafka, topic: string, options: { partitions: number; repeats: boolean }) {
    this.#kafka = kafka
    this.#topic = topic
    this.#partitions = options.partitions
    this.#repeats = options.repeats
    this.records = Array.from({ length: options.partitions }, () => [])
  }

  /** Different events that the broker has. */
  get events(): number {
    return this.#events.length
  }

  start(): void {
    this.#running = this.#run()
    this.#running.catch(() => {})
  }

  stop(): Promise<void> {
    this.#stopped = true
    return this.#running
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      await this.#send(Array.from({ length: burst }, () => this.#next()))
      await pause(pauseMs)
    }
  }

  async #send(events: readonly WorkEvent[]): Promise<void> {
    const placed = events.map(event => ({ event, partition: Number(event.key) % this.#partitions }))
    const offsets = await this.#kafka.produce(
      this.#topic,
      placed.map(({ event, partition }) => ({ value: JSON.stringify(event), key: event.key, partition })),
    )
    for (const [n, { event, partition }] of placed.entries())
      this.records[partition]!.push({ partition, offset: offsets[n]!, id: event.id })
  }

  #next(): WorkEvent {
    if (this.#repeats && this.#events.length > 0 && Math.random() < 0.04)
      return this.#events[Math.floor(Math.random() * this.#events.length)]!
    const key = Math.floor(Math.random() * keys)
    const seq = (this.#seqs.get(key) ?? 0) + 1
    this.#seqs.set(key, seq)
    const event = { id: `${key}-${seq}`, key: String(key), seq }
    this.#events.push(event)
    return event
  }
}
