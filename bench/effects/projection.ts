import { defineConsumer, projection, type SourceDeclaration, type SqlTransaction } from 'onceward'
import type pg from 'pg'
import { type Parsed, parse } from '../contenders/apply-batch.ts'
import type { OpenContender } from '../contenders/contender.ts'
import { handBatchWith } from '../contenders/hand-batch.ts'
import { consumeAs, rabbitSource } from '../contenders/onceward.ts'
import { bodyOf, type Increment, incrementsOf, type Load } from '../workload.ts'

/** An increment with its place among those of its key. */
export interface Versioned extends Increment {
  readonly version: number
}

export const projectionTables = `
  create table projected (key integer primary key, version bigint not null, amount integer not null, last_id text not null)`

export const resetProjection = 'truncate projected'

/** The workload's messages, each with the next version of its key: 250 bytes as well. */
export function* versionedBodiesOf(load: Load): Generator<Buffer> {
  const versions = new Map<number, number>()
  for (const increment of incrementsOf(load)) {
    const version = (versions.get(increment.key) ?? 0) + 1
    versions.set(increment.key, version)
    yield bodyOf({ ...increment, version } as Versioned)
  }
}

/** Every key at its last version with the values of its last message. */
export async function assertProjected(pool: pg.Pool, load: Load): Promise<void> {
  const last = new Map<number, { id: string; version: number }>()
  for (const { id, key } of incrementsOf(load))
    last.set(key, { id, version: (last.get(key)?.version ?? 0) + 1 })
  const { rows } = await pool.query('select key, version::int as version, last_id from projected')
  const wrong = rows.filter(
    row => last.get(row.key)?.id !== row.last_id || last.get(row.key)?.version !== row.version,
  )
  if (rows.length !== last.size || wrong.length > 0)
    throw new Error(`projection: ${rows.length} of ${last.size} keys, ${wrong.length} of them wrong`)
}

/** What the hand-written upsert promises: the newest version, also after skipped ones. */
function defineProjection(source: SourceDeclaration) {
  return defineConsumer<Increment, SqlTransaction>({
    name: 'projected',
    owner: 'bench',
    risk: 'projection',
    source,
    identity: { id: message => message.id },
    effect: {
      apply: projection({
        table: 'projected',
        key: { key: 'key' },
        version: { version: 'version' },
        columns: { amount: 'amount', last_id: 'id' },
        gap: 'skips allowed',
      }),
    },
  })
}

export const openProjectionEffect: OpenContender = async place =>
  consumeAs(place, defineProjection, rabbitSource(place))

const insertMarkers = `
  insert into bench_inbox (consumer, id, digest)
  select 1, claim.id, claim.digest from unnest($1::text[], $2::bytea[]) as claim (id, digest)
  on conflict do nothing
  returning id`

const upsert = `
  insert into projected as held (key, version, amount, last_id)
  select * from unnest($1::int[], $2::bigint[], $3::int[], $4::text[])
  on conflict (key) do update set version = excluded.version, amount = excluded.amount, last_id = excluded.last_id
  where held.version < excluded.version`

export const openProjectionByHand: OpenContender = handBatchWith(async (client, bodies) => {
  const batch = bodies.map(parse).sort((a, b) => (a.message.id < b.message.id ? -1 : 1))
  await client.query('begin')
  try {
    await projectBatch(client, batch)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
})

async function projectBatch(client: pg.ClientBase, batch: readonly Parsed[]): Promise<void> {
  const ids = batch.map(({ message }) => message.id)
  const { rows } = await client.query(insertMarkers, [ids, batch.map(({ digest }) => digest)])
  const inserted = new Set(rows.map(row => row.id as string))
  const newest = new Map<number, Versioned>()
  for (const { message } of batch) {
    const one = message as Versioned
    const held = newest.get(one.key)
    if (inserted.has(one.id) && (held === undefined || held.version < one.version)) newest.set(one.key, one)
  }
  const changes = [...newest.values()].sort((a, b) => a.key - b.key)
  if (changes.length === 0) return
  await client.query(upsert, [
    changes.map(one => one.key),
    changes.map(one => one.version),
    changes.map(one => one.amount),
    changes.map(one => one.id),
  ])
}
