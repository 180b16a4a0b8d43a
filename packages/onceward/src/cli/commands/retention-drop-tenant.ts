import { Command } from 'commander'
import { dropTenant } from '../../operations/retention/drop-tenant.ts'
import { withPool } from '../database.ts'
import { print } from '../output.ts'

interface Flags {
  readonly consumer: string
  readonly because: string
  readonly json?: boolean
}

export function dropTenantCommand(): Command {
  return new Command('drop-tenant')
    .description('remove all rows of one tenant that are finished and cannot be redelivered')
    .argument('<tenant>', 'tenant, as message ids begin with it')
    .requiredOption('--consumer <name>', 'consumer name')
    .requiredOption('--because <reason>', 'reason, recorded in the audit')
    .option('--json', 'print one JSON object')
    .action(async (tenant: string, { consumer, because, json = false }: Flags) => {
      await withPool(json, async pool => {
        const { removed, until } = await dropTenant(pool, { consumer, tenant, because })
        print(json, { ok: true, removed, until }, () => {
          if (removed === null)
            return `requested: nothing was removed. Another person completes it with the same command before ${until}`
          const counts = Object.entries(removed).map(([kind, count]) => `${kind} ${count}`)
          return `removed of tenant ${tenant}: ${counts.join(', ')}`
        })
      })
    })
}
