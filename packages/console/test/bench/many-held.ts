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
    insert into onceward.held (consumer_id, run_id, state, message_id, digest, order_key, business_key, code,
      failure_class, reason, origin, message_type, delivery_count, headers, properties, body, first_at)
    select 1, 1, (array['parked', 'parked', 'parked', 'dead', 'quarantined'])[1 + n % 5]::onceward.held_state, 'm-' || n,
      int8send(n), 'k-' || n % 5000, 'b-' || n % 20000, case when n % 20000 = 7 then 'rare' else 'code_' || n % 7 end,
      case when n % 20000 = 8 then 'validation' else 'verdict' end, 'refused', 'queue q',
      case when n % 20000 = 9 then 'type_rare' else 'type_' || n % 3 end, 1, '{}', '{}',
      convert_to(json_build_object('number', n, 'customer', md5(n::text), 'note', repeat('text ', 60))::text, 'UTF8'),
      clock_timestamp() - (${held} - n) * interval '1 second'
    from generate_series(1, ${held}) n;
    insert into onceward.parked_count select consumer_id, state, failure_class, code,
      onceward.place_of(place, origin, message_type), count(*) from onceward.held group by 1, 2, 3, 4, 5;
    alter table onceward.held enable trigger user;
    insert into onceward.classification (held_id, label, assignee) select id, 'bank', 'bob' from onceward.held where id % 20000 = 10;
    analyze onceward.held, onceward.classification`)
  return {
    pool,
    url: database.url,
    close: async () => {
      await pool.end()
      await database.drop()
    },
  }
}
