import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import {
  type CampaignMode,
  type Consumer,
  defineConsumer,
  openReplay,
  runConsumer,
  type SqlTransaction,
  type Store,
} from 'onceward'
import { until } from 'onceward/testing'
import type { SqlPool } from '../../src/drivers/postgres/pool.ts'
import { verifyCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { kafkaBootstrap, rabbitmqStreamUrl, rabbitmqUrl } from '../services/services.ts'
import { linesOf, openBroker } from './broker.ts'
import { contractOf, type Fact } from './contract-of.ts'
import type { Combination } from './dimensions.ts'
import { openStore } from './stores.ts'

let combinations = 0

/** Facts in the order of their keys' versions. The one that never gets through is the last of its key. */
const first: readonly Fact[] = [
  { id: 'a-1', key: 'ka', version: 1 },
  { id: 'b-1', key: 'kb', version: 1, plan: 'fail once' },
  { id: 'a-2', key: 'ka', version: 2 },
  { id: 'c-1', key: 'kc', version: 1, plan: 'ignore' },
  { id: 'b-2', key: 'kb', version: 2 },
  { id: 'a-3', key: 'ka', version: 3, plan: 'fail once' },
  { id: 'd-1', key: 'kd', version: 1, plan: 'fail always' },
  { id: 'a-4', key: 'ka', version: 4 },
]
const later: readonly Fact[] = [
  { id: 'a-5', key: 'ka', version: 5 },
  { id: 'b-3', key: 'kb', version: 3 },
]
const unseen: readonly Fact[] = [
  { id: 'e-1', key: 'ke', version: 1 },
  { id: 'e-2', key: 'ke', version: 2, plan: 'fail once' },
]
const isApplied = ({ plan }: Fact) => plan !== 'ignore' && plan !== 'fail always'

/**
 * Live work with failures, a restart, duplicates, a campaign where the combination has one, and live work
 * again. After each of them every fact was applied once, those that cannot be have a record that says so, and
 * effects outside were asked for by live work alone.
 */
export async function runCombination(
  t: TestContext,
  combination: Combination,
  database: { readonly url: string; readonly pool: SqlPool },
): Promise<void> {
  const scene = await Scene.open(t, combination, database)
  const { mode, dedup } = combination
  // A rebuild is not verified while it has set something aside.
  const begun = mode === 'rebuild' ? first.filter(isApplied) : first
  await scene.live(begun)
  await scene.expectApplied(begun)
  await scene.expectSetAside(begun)
  // The position is the only memory of dedup 'checkpoint': a producer that sends twice is not noticed, as its
  // page says.
  await scene.live([...(dedup === 'checkpoint' ? [] : begun), ...later])
  await scene.expectApplied([...begun, ...later])
  await scene.expectSetAside(begun)
  if (mode === 'live') return
  const known = [...begun, ...later, ...(mode === 'backfill' ? unseen : [])]
  await scene.campaign(mode, known)
  await scene.expectApplied(known)
  const last = { id: 'a-6', key: 'ka', version: 6 }
  await scene.live([last])
  await scene.expectApplied([...known, last])
}

class Scene {
  readonly #combination: Combination
  readonly #database: { readonly url: string; readonly pool: SqlPool }
  readonly #name: string
  readonly #consumer: Consumer<Fact, unknown>
  readonly #store: Store<unknown>
  readonly #publish: (facts: readonly Fact[]) => Promise<void>
  #addresses: object = {}

  private constructor(
    combination: Combination,
    database: { readonly url: string; readonly pool: SqlPool },
    around: {
      name: string
      consumer: Consumer<Fact, unknown>
      store: Store<unknown>
      publish: (facts: readonly Fact[]) => Promise<void>
    },
  ) {
    this.#combination = combination
    this.#database = database
    this.#name = around.name
    this.#consumer = around.consumer
    this.#store = around.store
    this.#publish = around.publish
  }

  static async open(
    t: TestContext,
    combination: Combination,
    database: { readonly url: string; readonly pool: SqlPool },
  ): Promise<Scene> {
    const name = `matrix_${++combinations}`
    const { store, send, close } = openStore(combination.store, database.url)
    t.after(close)
    await database.pool.query(
      `create table ${name} (id text primary key, key text not null, version integer not null, after integer,
         times integer not null default 1)`,
    )
    const { place, publish } = await openBroker(t, combination.source, { name, pool: database.pool })
    const consumer = defineConsumer(contractOf(combination, { name, place, table: name, send }))
    const scene = new Scene(combination, database, { name, consumer, store, publish })
    scene.#addresses = {
      databaseUrl: database.url,
      kafkaBootstrap: await kafkaBootstrap(),
      rabbitmqUrl: await rabbitmqUrl(),
      rabbitmqStreamUrl: await rabbitmqStreamUrl(),
    }
    return scene
  }

  /** Runs the consumer until these have ended, then stops it. */
  async live(facts: readonly Fact[]): Promise<void> {
    const running = await runConsumer(this.#consumer, {
      ...(this.#addresses as { databaseUrl: string }),
      store: this.#store,
      parts: ['consumer', 'worker', 'relay'],
    })
    try {
      await this.#publish(facts)
      const expected = facts.filter(fact => this.#leavesRow(fact))
      await until(
        `${this.#name} has applied ${expected.length} facts and set one aside`,
        async () => {
          if (running.consumer?.state === 'halted') await running.finished
          return (await this.#missing(expected)).length === 0 && (await this.#allEnded(facts))
        },
        { deadlineMs: 90_000 },
      )
    } finally {
      await running.drain()
    }
  }

  #leavesRow(fact: Fact): boolean {
    return isApplied(fact) || (this.#combination.dedup === 'version' && fact.plan !== 'fail always')
  }

  async #missing(facts: readonly Fact[]): Promise<readonly string[]> {
    if (this.#combination.dedup === 'version') {
      const { rows } = await this.#query(`select id, version from ${this.#name}`)
      const versions = new Map(rows.map(row => [row.id as string, row.version as number]))
      return facts.filter(({ key, version }) => (versions.get(key) ?? 0) < version).map(({ id }) => id)
    }
    const { rows } = await this.#query(`select id from ${this.#name}`)
    const ids = new Set(rows.map(row => row.id as string))
    return facts.filter(({ id }) => !ids.has(id)).map(({ id }) => id)
  }

  /** Facts without a row of their own have a record: a marker, and the one that fails always is set aside. */
  async #allEnded(facts: readonly Fact[]): Promise<boolean> {
    const failing = facts.some(({ plan }) => plan === 'fail always')
    return !failing || (await this.#setAside()).length > 0
  }

  /** A handler that fails always parks; a projection that cannot read a field quarantines. */
  async #setAside(): Promise<readonly string[]> {
    const { rows } = await this.#query(
      `select h.message_id from onceward.held h join onceward.consumer c on c.id = h.consumer_id
       where c.name = $1 and c.generation = 1 and h.state::text = $2`,
      [this.#name, this.#combination.dedup === 'version' ? 'quarantined' : 'parked'],
    )
    return rows.map(row => row.message_id as string)
  }

  async expectSetAside(facts: readonly Fact[]): Promise<void> {
    const failing = facts.filter(({ plan }) => plan === 'fail always')
    assert.deepEqual(
      await this.#setAside(),
      failing.map(({ id }) => id),
    )
  }

  async expectApplied(facts: readonly Fact[]): Promise<void> {
    const { dedup, order } = this.#combination
    if (dedup === 'version') {
      const applied = facts.filter(fact => this.#leavesRow(fact))
      const newest = new Map(applied.map(({ key, version }) => [key, version]))
      const { rows } = await this.#query(`select id, version from ${this.#name} order by id`)
      assert.deepEqual(
        rows.map(row => [row.id, row.version]),
        [...newest].sort(([one], [other]) => (one < other ? -1 : 1)),
      )
      return
    }
    const { rows } = await this.#query(`select id, times, version, after from ${this.#name} order by id`)
    const expected = facts.filter(isApplied).map(({ id }) => id)
    assert.deepEqual(
      rows.map(row => [row.id, row.times]),
      expected.sort().map(id => [id, 1]),
    )
    if (order !== 'none')
      for (const { id, version, after } of rows)
        assert.equal(after, version === 1 ? null : version - 1, `${id} was applied out of order`)
    await this.#expectRequested(expected)
  }

  /** Live work asks for one call each; campaigns for none. */
  async #expectRequested(applied: readonly string[]): Promise<void> {
    const { rows } = await this.#query(
      `select effect_key from onceward.ledger where consumer_name = $1 order by 1`,
      [this.#name],
    )
    const backfilled = new Set(unseen.map(({ id }) => id))
    assert.deepEqual(
      rows.map(row => row.effect_key),
      applied.filter(id => !backfilled.has(id)).map(id => `${this.#name} ${id}`),
    )
  }

  /** Over the log, or over a file where the source keeps no history. */
  async campaign(mode: CampaignMode, past: readonly Fact[]): Promise<void> {
    const { source } = this.#combination
    const folder = await mkdtemp(join(tmpdir(), 'onceward-matrix-'))
    const path = join(folder, 'past.jsonl')
    await writeFile(path, linesOf(past))
    const keepsHistory = source === 'kafka' || source === 'rabbitmq-stream' || source === 'file'
    const replay = await openReplay(this.#consumer as Consumer<Fact, SqlTransaction>, {
      ...(this.#addresses as { databaseUrl: string }),
      store: this.#store as Store<SqlTransaction>,
    })
    try {
      const { id } = await replay.create({
        mode,
        reason: 'a test',
        selection: {
          ...(keepsHistory && mode !== 'backfill'
            ? ({ of: 'log', start: 'first', end: 'next' } as const)
            : ({ of: 'file', path, neverLive: true } as const)),
          ...(mode === 'repair' && { keys: ['ka'] }),
        },
      })
      await replay.preview(id)
      const { state } = await replay.run(id)
      assert.equal(state, 'ran')
      if (mode !== 'rebuild') return
      const verified = await verifyCampaign(this.#database.pool, id)
      assert.ok(verified.complete, JSON.stringify(verified))
      await replay.swap(id)
    } finally {
      await replay.close()
      await rm(folder, { recursive: true })
    }
  }

  #query(text: string, values: readonly unknown[] = []) {
    return this.#database.pool.query(text, values as unknown[])
  }
}
