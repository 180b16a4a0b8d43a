import type { PooledClient, SqlPool, SqlResult } from '../../drivers/postgres/pool.ts'
import { sendTogether } from '../../drivers/postgres/pool.ts'
import { setRoleSettings } from '../../drivers/postgres/role-settings.ts'
import { leaseEnded } from '../../drivers/postgres/sql/clock-ahead.ts'
import type { Environment } from '../../environment.ts'

/** As `onceward.outbox_bucket_of` has it. */
const bucketsMax = 32

const createBuckets = `
  insert into onceward.outbox_bucket (destination, bucket)
  select $1, bucket from generate_series(0, ${bucketsMax - 1}) as bucket on conflict do nothing`

const join = `
  insert into onceward.relay (destination, instance, until)
  values ($1, $2, clock_timestamp() + $3::double precision * interval '1 millisecond') returning id`

/** Relays of a destination share out one after the other, so none sees another half way. */
const takeTurn = 'select from onceward.outbox_bucket where destination = $1 and bucket = 0 for update'

const extend = `
  update onceward.relay set until = clock_timestamp() + $2::double precision * interval '1 millisecond' where id = $1`

const bury = `delete from onceward.relay where destination = $1 and ${leaseEnded('until', 'clock_timestamp()', '$2')}`

const share = `(select ceil(${bucketsMax}.0 / greatest(1, count(*)))::int from onceward.relay where destination = $1)`
const mine = '(select count(*)::int from onceward.outbox_bucket where destination = $1 and relay_id = $2)'

const takeFree = `
  update onceward.outbox_bucket set relay_id = $2
  where destination = $1 and exists (select from onceward.relay where id = $2) and bucket in (
    select bucket from onceward.outbox_bucket as free
    where destination = $1 and not exists (select from onceward.relay where relay.id = free.relay_id)
    order by bucket limit greatest(0, ${share} - ${mine}))`

/** A bucket with a round under way stays until a later turn. */
const giveBack = `
  update onceward.outbox_bucket set relay_id = null
  where destination = $1 and relay_id = $2 and bucket in (
    select bucket from onceward.outbox_bucket
    where destination = $1 and relay_id = $2 and bucket <> all ($3::smallint[])
    order by bucket desc limit greatest(0, ${mine} - ${share}))`

const readMine =
  'select bucket from onceward.outbox_bucket where destination = $1 and relay_id = $2 order by bucket'

const begin = `begin; set local lock_timeout = 3000; set local idle_in_transaction_session_timeout = 5000; ${setRoleSettings}`

export interface BucketLeaseOptions {
  readonly pool: SqlPool
  readonly destination: string
  readonly instance: string
  readonly leaseMs: number
  readonly env: Environment
}

/**
 * This relay's share of the buckets.
 *
 *   new ──join──▶ live ──refreshed in time──▶ live … ──expired and buried by another──▶ new, without buckets
 *
 * A relay is alive while its row is there; the database's clock says when it may be buried. Two relays that
 * for a moment believe in the same bucket publish some rows twice under the same ids, and still in order: see
 * docs/publish.md.
 */
export class BucketLeases {
  readonly #options: BucketLeaseOptions
  #relayId: string | null = null
  #buckets: readonly number[] = []
  #refreshedMs = Number.NEGATIVE_INFINITY

  constructor(options: BucketLeaseOptions) {
    this.#options = options
  }

  get buckets(): readonly number[] {
    return this.#buckets
  }

  /**
   * By our own clock, for not doing what another has taken over: a process that was frozen learns it here.
   */
  get live(): boolean {
    return this.#ageMs() < this.#options.leaseMs
  }

  get due(): boolean {
    return this.#ageMs() >= this.#options.leaseMs / 3
  }

  /**
   * Extends the lease, buries relays that are gone, and takes or gives back buckets until all have about as
   * many.
   */
  async refresh(busy: readonly number[]): Promise<void> {
    this.#relayId ??= await this.#join()
    const relayId = this.#relayId
    const askedMs = this.#options.env.clock.nowMs()
    const { pool, destination, leaseMs } = this.#options
    const client = await pool.connect()
    let usable = false
    try {
      const [, , extended, , , , owned] = await together(client, [
        [begin],
        [takeTurn, [destination]],
        [extend, [relayId, leaseMs]],
        [bury, [destination, leaseMs]],
        [giveBack, [destination, relayId, busy]],
        [takeFree, [destination, relayId]],
        [readMine, [destination, relayId]],
        ['commit'],
      ])
      usable = true
      if (extended!.rowCount === 0) return this.#lost()
      this.#buckets = owned!.rows.map(({ bucket }) => bucket as number)
      this.#refreshedMs = askedMs
      this.#options.env.reach('relay.leased')
    } finally {
      client.release(!usable)
    }
  }

  /** Others may take over at once. */
  async leave(): Promise<void> {
    const relayId = this.#relayId
    this.#lost()
    if (relayId !== null)
      await this.#options.pool.query('delete from onceward.relay where id = $1', [relayId])
  }

  async #join(): Promise<string> {
    const { pool, destination, instance, leaseMs } = this.#options
    await pool.query(createBuckets, [destination])
    const { rows } = await pool.query(join, [destination, instance, leaseMs])
    return rows[0].id
  }

  #lost(): void {
    this.#relayId = null
    this.#buckets = []
    this.#refreshedMs = Number.NEGATIVE_INFINITY
  }

  #ageMs(): number {
    return this.#options.env.clock.nowMs() - this.#refreshedMs
  }
}

/** One round trip, so that no process can freeze between two of them while it holds the turn. */
async function together(
  client: PooledClient,
  statements: readonly (readonly [text: string, values?: unknown[]])[],
): Promise<readonly SqlResult[]> {
  sendTogether(client)
  const answers = await Promise.allSettled(statements.map(([text, values]) => client.query(text, values)))
  const failed = answers.find(answer => answer.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return answers.map(answer => (answer as PromiseFulfilledResult<SqlResult>).value)
}
