import { Command } from 'commander'
import { grantRoles } from '../../operations/server/roles.ts'
import { migrate } from '../../postgres.ts'
import { environmentName } from '../../runtime/addresses.ts'
import { withPool } from '../database.ts'
import { print } from '../output.ts'

export function migrateCommand(): Command {
  return new Command('migrate')
    .description('create or upgrade the onceward schema; safe to repeat and to run concurrently')
    .option('--roles', 'also create the group roles and grant their rights; repeat after each upgrade')
    .option('--json', 'print one JSON object')
    .action((options: { json?: boolean; roles?: boolean }) =>
      withPool(
        options.json === true,
        async pool => {
          const result = await migrate(pool, { environment: environmentName() })
          if (options.roles === true) await grantRoles(pool)
          print(options.json === true, { ok: true, ...result }, () =>
            result.applied.length === 0
              ? `schema is at version ${result.to}, nothing to do`
              : `schema upgraded from version ${result.from} to ${result.to}: ${result.applied.join(', ')}`,
          )
        },
        { migrates: true },
      ),
    )
}
