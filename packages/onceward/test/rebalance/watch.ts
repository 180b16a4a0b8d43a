import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { createPool } from 'onceward/postgres'
import type { TestKafka } from '../kafka/fixture.ts'
import type { Load } from './load.ts'

/** It shall watch them, not compete with them. */
const restMs = 30

type Pool = ReturnType<typeof createPool>
type Positions = ReadonlyMap<number, number>

/**
 * Looks at the group from outside for as long as it runs: whatever a position has passed must be applied.
 * Positions are read first and effects afterwards, so a sample can only be too kind by what was committed in
 * between, never too strict.
 */
export class Watch {
  readonly #kafka: TestKafka
  readonly #pool: Pool
  readonly #load: Load
  readonly #topic: string
  readonly #checked = { 'the broker': new Map<number, number>(), 'the store': new Map<number, number>() }
  readonly #violations: string[] = []
  samples = 0
  #stopped = false
  #running: Promise<void> = Promise.resolve()

  constructor(kafka: TestKafka, pool: Pool, load: Load, topic: string) {
    this.#kafka = kafka
    this.#pool = pool
    this.#load = load
    this.#topic = topic
  }

  /** Records that the broker's position had passed when it was looked at. */
  get passed(): number {
    return [...this.#checked['the broker'].values()].reduce((sum, count) => sum + count, 0)
  }

  /** Throws as soon as a position was ever seen past a record that was not applied. */
  assertNothingSkipped(): void {
    const some = this.#violations.slice(0, 5).join('\n')
    assert.equal(this.#violations.length, 0, some)
  }

  start(): void {
    this.#running = this.#run()
    this.#running.catch(() => {})
  }

  stop(): Promise<void> {
    this.#stopped = true
    return this.#running
  }

  async sample(): Promise<void> {
    const told = await this.#kafka.committed(this.#topic, this.#topic)
    const stored = await this.storedPositions()
    await this.#look('the broker', told)
    await this.#look('the store', stored)
    this.samples++
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      await this.sample()
      await pause(restMs)
    }
  }

  async storedPositions(): Promise<Positions> {
    const { rows } = await this.#pool.query(
      'select partition, next from onceward.checkpoint where next is not null',
    )
    return new Map(rows.map(row => [Number(row.partition.split('/')[1]), Number(row.next)]))
  }

  /** What was found applied once needs no second look. */
  async #look(keeper: 'the broker' | 'the store', positions: Positions): Promise<void> {
    const checked = this.#checked[keeper]
    const newly = this.#load.records.flatMap((records, partition) => {
      const passed = records.slice(checked.get(partition) ?? 0)
      const end = passed.findIndex(({ offset }) => offset >= (positions.get(partition) ?? 0))
      return end === -1 ? passed : passed.slice(0, end)
    })
    if (newly.length === 0) return
    const { rows } = await this.#pool.query(
      'select id from unnest($1::text[]) as passed (id) where not exists (select from applied where applied.id = passed.id)',
      [newly.map(({ id }) => id)],
    )
    const missing = new Set(rows.map(row => row.id as string))
    for (const { partition, offset, id } of newly) {
      checked.set(partition, (checked.get(partition) ?? 0) + 1)
      if (missing.has(id))
        this.#violations.push(`${keeper} stood past ${partition}@${offset} (${id}), which was not applied`)
    }
  }
}
