import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ConsumerContract, ConsumerProcess } from 'onceward'
import type { MemoryTransaction } from 'onceward/memory'
import { Draws } from '../../src/testing/simulator/draws.ts'
import { ConsumerRig, type Note, type NoteContext } from './consumer-rig.ts'

type Changes = Partial<ConsumerContract<Note, MemoryTransaction>>

const seeds = Array.from({ length: 80 }, (_, seed) => seed)
const groupMax = 64

/**
 * What one seed chooses: who kills, in its handler or while it is read, beside whom, and how often a process
 * ends otherwise.
 */
function choose(seed: number) {
  const draws = new Draws(seed, 'suspects')
  const ids = Array.from({ length: draws.between(1, 200) }, (_, n) => `n${n}`)
  return {
    draws,
    notes: ids.map((id, n) => ({ id, key: `k${n % 7}` })),
    killers: new Set(Array.from({ length: draws.between(0, 3) }, () => draws.pick(ids))),
    keyed: draws.chance(0.4),
    reading: draws.chance(0.3),
    processes: draws.chance(0.3) ? 2 : 1,
    killsFromOutside: draws.between(0, 2),
    stopsInOrder: draws.between(0, 2),
    attemptsMax: draws.between(3, 4),
  }
}

type Choice = ReturnType<typeof choose>
type End = 'died' | 'settled' | 'cut'

/**
 * The lives of a consumer. A death takes all its processes: their transactions never end and their runs are
 * never closed.
 */
class Lives {
  readonly rig = new ConsumerRig()
  readonly #choice: Choice
  deaths = 0
  #die: () => void = () => {}

  constructor(choice: Choice) {
    this.#choice = choice
    this.rig.publish(...choice.notes)
  }

  async run(): Promise<void> {
    const { draws, processes } = this.#choice
    let { killsFromOutside, stopsInOrder } = this.#choice
    for (let lives = 0; this.rig.queue.unsettled > 0; lives++) {
      assert.ok(lives < 100, 'it comes to an end')
      const died = new Promise<'died'>(resolve => {
        this.#die = () => resolve('died')
      })
      const all: ConsumerProcess<Note, MemoryTransaction>[] = []
      for (let n = 0; n < processes; n++) all.push(await this.rig.start(this.#contract))
      const mayBeCut = killsFromOutside + stopsInOrder > 0
      const end = await Promise.race([died, this.#turns(mayBeCut ? draws.between(1, 12) : 5_000)])
      if (end === 'died') this.deaths++
      if (end === 'died' || (end === 'cut' && killsFromOutside-- > 0)) await this.#bury(all)
      else await Promise.all(all.map(one => one.drain()))
      if (end === 'cut' && killsFromOutside < 0) stopsInOrder--
    }
  }

  get #contract(): Changes {
    const { keyed, reading, killers, attemptsMax } = this.#choice
    const validate = (value: unknown) => {
      if (!reading || !killers.has((value as Note).id)) return { value: value as Note }
      this.#die()
      return new Promise<never>(() => {})
    }
    return {
      message: { '~standard': { version: 1, vendor: 'unit', validate } },
      failure: { attemptsMax, delayMs: 0, delayMaxMs: 0 },
      identity: keyed ? { id: m => m.id, orderKey: m => m.key! } : { id: m => m.id },
      ...(keyed && { order: 'key' as const }),
      handle: context => this.#handle(context),
    }
  }

  async #handle({ message, tx, signal }: NoteContext): Promise<void> {
    const { reading, killers } = this.#choice
    if (!reading && killers.has(message.id)) {
      this.#die()
      await new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    this.rig.apply(tx, message.id)
  }

  async #turns(max: number): Promise<End> {
    for (let turns = 0; turns < max; turns++) {
      if (this.rig.queue.unsettled === 0) return 'settled'
      await this.rig.env.turn()
    }
    return 'cut'
  }

  async #bury(all: readonly ConsumerProcess<Note, MemoryTransaction>[]): Promise<void> {
    const { store } = this.rig
    const { closeRun, transaction } = store
    Object.assign(store, { closeRun: async () => {}, transaction: () => new Promise(() => {}) })
    for (const one of all) one.leave()
    await this.rig.env.turn()
    Object.assign(store, { closeRun, transaction })
  }
}

describe('among random neighbours, killers', () => {
  for (const seed of seeds)
    test(`are found within attempts + log2 n + 1 crashes each, and no other message is blamed (seed ${seed})`, async () => {
      const choice = choose(seed)
      const { notes, killers, keyed, reading, processes, attemptsMax } = choice
      const lives = new Lives(choice)
      await lives.run()
      const halvings = Math.floor(Math.log2(Math.min(groupMax, notes.length)))
      const deathsMax = killers.size * (attemptsMax + halvings + 1)
      assert.ok(lives.deaths <= deathsMax, `${lives.deaths} deaths of at most ${deathsMax}`)
      const { held, attempts, data } = lives.rig.store.memory.committed
      const idOf = (body: Uint8Array) => (JSON.parse(Buffer.from(body).toString()) as Note).id
      const died = [...held.values()].filter(({ code }) => code === 'process_died')
      for (const { body } of died) assert.ok(killers.has(idOf(body)), 'nobody else is blamed')
      const aside = new Set([...held.values()].map(({ body }) => idOf(body)))
      for (const { id } of notes) assert.equal(data.get(id) ?? 0, aside.has(id) ? 0 : 1, id)
      for (const id of killers) assert.ok(aside.has(id))
      if (!keyed || reading) assert.equal(aside.size, killers.size, 'nobody else is set aside')
      else if (processes === 1) assertOrder(lives.rig.handled, notes)
      assert.equal([...attempts.keys()].filter(key => !/bytes/.test(key)).length <= killers.size, true)
    })
})

/**
 * Effects of one key that stayed came in the order of the messages: of a message only its last try counts.
 */
function assertOrder(handled: readonly string[], notes: readonly Note[]): void {
  const last = new Map(handled.map((id, place) => [id, place]))
  for (const [, some] of Map.groupBy(notes, ({ key }) => key!)) {
    const places = some.flatMap(({ id }) => last.get(id) ?? [])
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    )
  }
}
