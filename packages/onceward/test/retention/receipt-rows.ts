import type { MemoryScene } from './scene.ts'

/** Receipts of two messages, `days` old; in a table of their day, or in the rest. */
export async function receipts(
  scene: MemoryScene,
  days: number,
  id = scene.consumerId,
  { rest = false } = {},
) {
  if (!rest)
    await scene.pool.query(
      `do $$ declare day date := (now() at time zone 'UTC')::date - ${days}; begin
         execute format('create table if not exists onceward.%I partition of onceward.receipt for values from (%L) to (%L)',
           to_char(day, '"receipt_"YYYYMMDD'), day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC');
         perform onceward.copy_grants(to_char(day, '"receipt_"YYYYMMDD'), 'onceward.receipt');
       end $$`,
    )
  await scene.pool.query(
    `insert into onceward.receipt (consumer_id, run_id, at, count, facts, digests)
     values ($1, 1, now() - $2 * interval '1 day', 2, '{"id": ["a", "b"], "type": "Paid"}', sha256('a') || sha256('b'))`,
    [id, days],
  )
}
