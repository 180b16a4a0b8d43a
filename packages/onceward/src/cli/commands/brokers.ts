import { Argument, Command } from 'commander'
import { acceptBroker, listBrokers } from '../../operations/server/brokers.ts'
import { withPool } from '../database.ts'
import { print } from '../output.ts'
import { passJson } from '../pass-json.ts'
import { table } from '../table.ts'

interface Flags {
  json?: boolean
}

/** The broker clusters that feed this database. */
export function brokersCommand(): Command {
  return new Command('brokers')
    .description('broker clusters that feed this database; any other cluster is refused')
    .option('--json', 'print one JSON object')
    .hook('preSubcommand', passJson)
    .action((flags: Flags) =>
      withPool(flags.json === true, async pool => {
        const brokers = await listBrokers(pool)
        print(flags.json === true, { ok: true, brokers }, () =>
          table(
            ['kind', 'cluster', 'announced as', 'since', 'by', 'because'],
            brokers.map(one => [
              one.kind,
              one.cluster,
              one.announced.join(', '),
              one.firstAt.toISOString(),
              one.addedBy,
              one.because,
            ]),
          ),
        )
      }),
    )
    .addCommand(acceptCommand())
}

function acceptCommand(): Command {
  return new Command('accept')
    .description('allow another cluster to feed this database')
    .addArgument(new Argument('<kind>', 'kind of the broker').choices(['kafka', 'rabbitmq']))
    .argument('<cluster>', 'cluster name, from the refusal')
    .requiredOption('--because <reason>', 'reason, recorded in the audit')
    .option('--json', 'print one JSON object')
    .action((kind: string, cluster: string, flags: Flags & { because: string }) =>
      withPool(flags.json === true, async pool => {
        await acceptBroker(pool, kind, cluster, flags.because)
        print(flags.json === true, { ok: true }, () => `${kind} cluster ${cluster} may feed this database.`)
      }),
    )
}
