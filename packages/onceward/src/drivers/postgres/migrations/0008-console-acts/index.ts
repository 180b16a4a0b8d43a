import { actKeys } from './act-keys.ts'
import { declines } from './declines.ts'
import { filters } from './filters.ts'
import { listedPeople } from './listed-people.ts'
import { quarantine } from './quarantine.ts'
import { samples } from './samples.ts'

const grantAgain = `
do $$ begin
  if exists (select from pg_roles where rolname = 'onceward_run')
    and has_schema_privilege('onceward_run', 'onceward', 'usage') then
    perform onceward.create_roles(); end if;
end $$;
`

/** What a console needs: listed people, keys of acts, filters, rates, and two more acts. */
export const consoleActs = [listedPeople, actKeys, quarantine, declines, filters, samples, grantAgain].join(
  '',
)
