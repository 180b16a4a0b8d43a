import { createPool, migrate } from 'onceward/postgres'
import { createDatabase } from '../../../onceward/test/services/services.ts'

export const held = 100_000
export const consumer = 'orders'

/** A database with many held messages of one consumer. */
export interface ManyHeld {
  readonly pool: ReturnType<typeof createPool>
  readonly url: string
  close(): Promise<void>
}

export async function openManyHeld(): Promise<ManyHeld> {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 4 })
  await migrate(pool)
  await pool.query(`
    insert into onceward.consumer (name, generation, owner, risk) values ('${consumer}', 1, 'tests', 'money'), ('other', 1, 'tests', 'money');
    insert into onceward.run (consumer_id, instance, handler_version, mode) values (1, 'a test', '1', 'live');
    alter table onceward.held disable trigger user;
    insert into onceward.held (consumer_id, run_id, state, message_id, digest, order_key, code, failure_class, reason, origin,
      message_type, delivery_count, headers, properties, body, first_at)
    select 1, 1, (array['parked', 'parked', 'parked', 'dead', 'quarantined'])[1 + n % 5]::onceward.held_state, 'm-' || n,
      int8send(n), 'k-' || n % 5000, case when n % 20000 = 7 then 'rare' else 'code_' || n % 7 end, 'verdict', 'refused', 'queue q',
      'type_' || n % 3, 1, '{}', '{}',
      convert_to(json_build_object('number', n, 'customer', md5(n::text), 'note', repeat('text ', 60))::text, 'UTF8'),
      clock_timestamp() - (${held} - n) * interval '1 second'
    from generate_series(1, ${held}) n;
    insert into onceward.parked_count select consumer_id, state, failure_class, code,
      onceward.place_of(place, origin, message_type), count(*) from onceward.held group by 1, 2, 3, 4, 5;
    alter table onceward.held enable trigger user;
    analyze onceward.held`)
  return {
    pool,
    url: database.url,
    close: async () => {
      await pool.end()
      await database.drop()
    },
  }
}
