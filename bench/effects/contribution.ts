import { isDeepStrictEqual } from 'node:util'
import { contribution, defineConsumer, type SourceDeclaration } from 'onceward'
import type pg from 'pg'
import { type Parsed, parse } from '../contenders/apply-batch.ts'
import type { OpenContender } from '../contenders/contender.ts'
import { handBatchWith } from '../contenders/hand-batch.ts'
import { consumeAs, rabbitSource } from '../contenders/onceward.ts'
import { type Increment, sumOf } from '../workload.ts'

/**
 * Both contenders write the same two tables; the marker of the hand-written one is `bench_inbox`, as in every
 * other contest.
 */
export const contributionTables = `
  create table contribution_fact (
    event_id     text collate "C" not null,
    sign         smallint not null,
    key          text not null,
    window_start timestamptz not null,
    occurred_at  timestamptz not null,
    amount       bigint not null,
    primary key (event_id, sign)
  );
  create table contribution_window (
    key          text not null,
    window_start timestamptz not null,
    count        bigint not null,
    amount       bigint not null,
    latest_at    timestamptz not null,
    primary key (key, window_start)
  )`

export const resetContributions = 'truncate contribution_fact, contribution_window'

const windowMs = 60_000
const epochMs = Date.UTC(2026, 0, 1)
/** Fifty teams and seventeen minutes: 850 sums that concurrent batches share. */
const teamOf = ({ key }: Increment) => `team-${key % 50}`
const timeOf = ({ key }: Increment) => epochMs + key * 1_000

const effect = contribution<Increment>({
  facts: 'contribution_fact',
  summary: 'contribution_window',
  window: { sizeMs: windowMs, latenessMs: 0, late: 'accept' },
  at: timeOf,
  key: teamOf,
  eventId: m => m.id,
  values: { amount: m => m.amount },
})

function defineContributions(source: SourceDeclaration) {
  return defineConsumer<Increment>({
    name: 'contributions',
    owner: 'bench',
    risk: 'telemetry',
    source,
    identity: { id: m => m.id },
    effect: { apply: effect },
  })
}

export const openContributionEffect: OpenContender = async place =>
  consumeAs(place, defineContributions, rabbitSource(place))

const insertMarkers = `
  insert into bench_inbox (consumer, id, digest)
  select 1, claim.id, claim.digest from unnest($1::text[], $2::bytea[]) as claim (id, digest)
  on conflict do nothing
  returning id`

const addFacts = `
  with fresh as (
    insert into contribution_fact (event_id, sign, key, window_start, occurred_at, amount)
    select id, 1, key, to_timestamp(window_ms / 1000.0), to_timestamp(at_ms / 1000.0), amount
    from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) as fact (id, key, window_ms, at_ms, amount)
    on conflict do nothing
    returning key, window_start, occurred_at, amount
  )
  insert into contribution_window as held (key, window_start, count, amount, latest_at)
  select key, window_start, count(*), sum(amount), max(occurred_at) from fresh
  group by key, window_start order by key, window_start
  on conflict (key, window_start) do update set count = held.count + excluded.count,
    amount = held.amount + excluded.amount, latest_at = greatest(held.latest_at, excluded.latest_at)`

/**
 * Markers, facts of the new ones with their sums, one commit: what an expert writes for
 * one purpose.
 */
async function contributeByHand(client: pg.ClientBase, bodies: readonly Buffer[]): Promise<void> {
  const batch = bodies.map(parse).sort((a, b) => (a.message.id < b.message.id ? -1 : 1))
  await client.query('begin')
  try {
    await writeFacts(client, batch)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

async function writeFacts(client: pg.ClientBase, batch: readonly Parsed[]): Promise<void> {
  const ids = batch.map(({ message }) => message.id)
  const { rows } = await client.query(insertMarkers, [ids, batch.map(({ digest }) => digest)])
  const messages = batch.map(({ message }) => message)
  const inserted = new Set(rows.map(row => row.id as string))
  const fresh = rows.length === batch.length ? messages : messages.filter(({ id }) => inserted.has(id))
  if (fresh.length === 0) return
  await client.query(addFacts, [
    fresh.map(({ id }) => id),
    fresh.map(teamOf),
    fresh.map(message => Math.floor(timeOf(message) / windowMs) * windowMs),
    fresh.map(timeOf),
    fresh.map(({ amount }) => amount),
  ])
}

export const openContributionByHand = handBatchWith(contributeByHand)

/** Throws unless each of `count` messages was counted once, and the sums are what the facts say. */
export async function verifyContributions(pool: pg.Pool, who: string, count: number): Promise<void> {
  const { rows } = await pool.query(`select (select count(*) from contribution_fact)::int as facts,
    (select sum(count) from contribution_window)::int as count, (select sum(amount) from contribution_window)::int as sum`)
  const expected = { facts: count, count, sum: sumOf(count) }
  if (!isDeepStrictEqual(rows[0], expected))
    throw new Error(`${who}: found ${JSON.stringify(rows[0])}, expected ${JSON.stringify(expected)}`)
  const drift = await effect.drift(async (text, values) => {
    const { rows, rowCount } = await pool.query(text, values as unknown[])
    return { rows, rowCount: rowCount ?? 0 }
  })
  if (drift.length > 0) throw new Error(`${who}: sums differ from the facts: ${JSON.stringify(drift[0])}`)
}
