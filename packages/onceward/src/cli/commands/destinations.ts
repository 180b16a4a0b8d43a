import { Command } from 'commander'
import { listDestinations, retireDestination } from '../../operations/server/destinations.ts'
import { withPool } from '../database.ts'
import { counted, oneLine, print } from '../output.ts'
import { passJson } from '../pass-json.ts'
import { table } from '../table.ts'

interface Flags {
  json?: boolean
}

/** The brokers that relays publish the outbox to. */
export function destinationsCommand(): Command {
  return new Command('destinations')
    .description('brokers that this database publishes to, with the messages that wait for each')
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
              one.firstAt?.toISOString() ?? 'never connected',
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
    .description('remove a destination that no relay is connected to, such as a replaced cluster')
    .argument('<name>', 'the destination, or the kind of broker of rows without one')
    .option(
      '--to <destination>',
      'destination that receives the waiting messages, at least once and after its own',
    )
    .requiredOption('--because <reason>', 'reason, recorded in the audit')
    .option('--json', 'print one JSON object')
    .action((name: string, flags: Flags & { because: string; to?: string }) =>
      withPool(flags.json === true, async pool => {
        const { moved } = await retireDestination(pool, name, flags.to ?? null, flags.because)
        const gone = flags.to === undefined ? '' : ` ${counted(moved, 'message')} moved to ${flags.to}.`
        print(flags.json === true, { ok: true, moved }, () => `${name} was removed.${gone}`)
      }),
    )
}
