import { Command } from 'commander'
import { OncewardError } from '../../../errors.ts'
import { listFilters, removeFilter, saveFilter } from '../../../operations/parking/saved-filters.ts'
import { withPool } from '../../database.ts'
import { print, safe } from '../../output.ts'
import { table } from '../../table.ts'

interface Flags {
  json?: boolean
  save?: string
  search?: string
  remove?: string
}

export function filtersCommand(): Command {
  return new Command('filters')
    .description('your saved searches of the console: list, save or remove')
    .option('--save <name>', 'save a search under this name; requires --search')
    .option('--search <query>', "search as in the console, such as 'consumer:orders code:no_account'")
    .option('--remove <name>', 'remove the search with this name')
    .option('--json', 'print one JSON object')
    .action((flags: Flags) =>
      withPool(flags.json === true, async pool => {
        const { save, search, remove } = flags
        if ((save === undefined) !== (search === undefined) || (save ?? remove) !== (remove ?? save))
          throw new OncewardError(
            'usage',
            'Pass --save with --search, or --remove, or neither. Nothing was changed.',
          )
        if (save !== undefined) {
          await saveFilter(pool, save, search!)
          return print(flags.json === true, { ok: true }, () => `Saved ${safe(save)}.`)
        }
        if (remove !== undefined) {
          const { removed } = await removeFilter(pool, remove)
          const text = removed ? `Removed ${safe(remove)}.` : `You have no search ${safe(remove)}.`
          return print(flags.json === true, { ok: true, removed }, () => text)
        }
        const filters = await listFilters(pool)
        print(flags.json === true, { ok: true, filters }, () =>
          filters.length === 0
            ? 'You have no saved searches.'
            : table(
                ['name', 'search', 'saved'],
                filters.map(one => [one.name, one.query, one.at.toISOString()]),
              ),
        )
      }),
    )
}
