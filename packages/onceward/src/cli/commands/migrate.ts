import { Command } from 'commander'
import { createPool, migrate } from '../../postgres.ts'
import { openDatabase } from '../database.ts'
import { consoleLog, print } from '../output.ts'

export function migrateCommand(): Command {
  return new Command('migrate')
    .description('create or upgrade the onceward schema; safe to repeat and to run twice at once')
    .option(
      '--roles',
      'also create the group roles and grant them what they need; repeat it after each upgrade',
    )
    .option('--json', 'print one JSON object')
    .action(async (options: { json?: boolean; roles?: boolean }) => {
      const database = await openDatabase(consoleLog(options.json === true))
      const pool = createPool(database.url, { max: 1 })
      try {
        const result = await migrate(pool, { environment: process.env.ONCEWARD_ENVIRONMENT })
        if (options.roles === true) await pool.query('select onceward.create_roles()')
        print(options.json === true, { ok: true, ...result }, () =>
          result.applied.length === 0
            ? `schema is at version ${result.to}, nothing to do`
            : `schema upgraded from version ${result.from} to ${result.to}: ${result.applied.join(', ')}`,
        )
      } finally {
        await pool.end()
        await database.close()
      }
    })
}
