import type pg from 'pg'
import { bodyOf, incrementsOf } from '../../workload.ts'

export type RelayBroker = 'kafka' | 'rabbitmq' | 'postgres'

export interface RelayPlace {
  readonly databaseUrl: string
  readonly rabbitmqUrl: string
  readonly kafkaBootstrap: string
  /** A queue or topic of the contender's own. */
  readonly target: string
}

/** One way of carrying the rows of a filled outbox to a broker. */
export interface RelayContender {
  readonly name: 'hand-written batch relay' | 'Onceward relay'
  readonly broker: RelayBroker
  /** Connects; the result carries `count` rows and resolves when the outbox is empty. */
  open(place: RelayPlace): Promise<{ carry(count: number): Promise<void>; close(): Promise<void> }>
}

/** Outbox of the hand-written relays: what Onceward's has, without the lease. */
export const handOutbox = `
  create table if not exists bench_outbox (
    id         bigint generated always as identity primary key,
    queue      text not null,
    message_id text not null,
    key        text,
    headers    json not null,
    body       bytea not null,
    created_at timestamptz not null default clock_timestamp()
  )`

/** The same 250-byte messages over 1,000 keys in both outboxes. */
export async function fillOutbox(
  pool: pg.Pool,
  { name, broker }: Pick<RelayContender, 'name' | 'broker'>,
  target: string,
  round: number,
  count: number,
): Promise<void> {
  const insert =
    name === 'Onceward relay'
      ? `insert into onceward.outbox (broker, destination, bucket, queue, message_id, key, body)
         select $5, $5, onceward.outbox_bucket_of(key), $1, id, key, body`
      : `insert into bench_outbox (queue, message_id, key, headers, body) select $1, id, key, '{}', body`
  const increments = [...incrementsOf({ ids: 'ordered', round, count })]
  for (let at = 0; at < count; at += 5_000) {
    const some = increments.slice(at, at + 5_000)
    await pool.query(
      `${insert} from unnest($2::text[], $3::text[], $4::bytea[]) with ordinality as new (id, key, body, place)
       ${name === 'Onceward relay' ? '' : 'where $5::text is not null'} order by place`,
      [target, some.map(({ id }) => id), some.map(({ key }) => String(key)), some.map(bodyOf), broker],
    )
  }
  await pool.query('analyze onceward.outbox')
  await pool.query('analyze bench_outbox')
}
