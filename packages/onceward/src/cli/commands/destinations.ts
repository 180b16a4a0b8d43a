import { Command } from 'commander'
import { listDestinations, retireDestination } from '../../operations/server/destinations.ts'
import { withPool } from '../database.ts'
import { counted, oneLine, print, table } from '../output.ts'
import { passJson } from '../pass-json.ts'

interface Flags {
  json?: boolean
}

/** Where the outbox is carried to. */
export function destinationsCommand(): Command {
  return new Command('destinations')
    .description('the brokers that this database publishes to, and what waits for each')
    .option('--json', 'print one JSON object')
    .hook('preSubcommand', passJson)
    .action((flags: Flags) =>
      withPool(flags.json === true, async pool => {
        const destinations = await listDestinations(pool)
        print(flags.json === true, { ok: true, destinations }, () =>
          table(
            ['destination', 'since', 'relays', 'waiting', 'refused', 'behind'],
            destinations.map(one => [
              oneLine(one.name),
              one.firstAt?.toISOString() ?? 'not reached yet',
              one.relays,
              one.waiting,
              one.stuck,
              one.behind,
            ]),
          ),
        )
      }),
    )
    .addCommand(retireCommand())
}

function retireCommand(): Command {
  return new Command('retire')
    .description('forget a destination that no relay is connected to, such as a cluster that was replaced')
    .argument('<name>', 'the destination, or the bare kind that rows were written for')
    .option(
      '--to <destination>',
      'where the messages go that wait for it; at least once, and behind what is there already',
    )
    .requiredOption('--because <reason>', 'why; it is recorded')
    .option('--json', 'print one JSON object')
    .action((name: string, flags: Flags & { because: string; to?: string }) =>
      withPool(flags.json === true, async pool => {
        const { moved } = await retireDestination(pool, name, flags.to ?? null, flags.because)
        const gone =
          flags.to === undefined ? '' : ` ${counted(moved, 'message')} of it wait for ${flags.to} now.`
        print(flags.json === true, { ok: true, moved }, () => `${name} is forgotten.${gone}`)
      }),
    )
}
