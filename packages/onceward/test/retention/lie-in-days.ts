import type { createPool } from 'onceward/postgres'

/**
 * Puts every consumer that enrols from now on into tables of its own, as `onceward retention partition` does.
 * Only the rest of each, without days: ids of tests are of no day, and a statement that looks for markers by
 * key plans with every table there is.
 */
export async function lieInDays(pool: ReturnType<typeof createPool>): Promise<void> {
  await pool.query(`
    create function onceward.lie_in_days() returns trigger language plpgsql as $$
    begin
      perform onceward.build_days(new.id, 'uuidv7', (clock_timestamp() at time zone 'UTC')::date + 4);
      perform onceward.attach_days(new.id);
      return null;
    end $$;
    create trigger lie_in_days after insert on onceward.consumer for each row execute function onceward.lie_in_days();
    with one as (insert into onceward.consumer (name, generation, owner, risk) values ('first_in_days', 1, 'tests', 'money') returning id)
    select id from one`)
}
