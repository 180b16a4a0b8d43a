import { Command } from 'commander'
import { listReaders, renameConsumer, separateConsumer } from '../../operations/server/names.ts'
import { withPool } from '../database.ts'
import { counted, print } from '../output.ts'
import { table } from '../table.ts'

interface Flags {
  json?: boolean
}
type ActFlags = Flags & { because: string }

/** Consumer names and the sources they read. */
export function consumersCommand(): Command {
  return new Command('consumers')
    .description('consumers of this database and the sources they read')
    .addCommand(listCommand())
    .addCommand(renameCommand())
    .addCommand(separateCommand())
}

function listCommand(): Command {
  return new Command('list')
    .description('list all consumers with their sources')
    .option('--json', 'print one JSON object')
    .action((flags: Flags) =>
      withPool(flags.json === true, async pool => {
        const readings = await listReaders(pool)
        print(flags.json === true, { ok: true, readings }, () =>
          table(
            ['consumer', 'kind', 'reads', 'virtual host', 'group', 'last start'],
            readings.map(one => [
              one.consumer,
              one.kind,
              one.place,
              one.virtualHost ?? '',
              one.reader,
              one.lastAt.toISOString(),
            ]),
          ),
        )
      }),
    )
}

function renameCommand(): Command {
  return new Command('rename')
    .description('rename a consumer with its markers, positions and ledger; stop its processes first')
    .argument('<from>', 'old name')
    .argument('<to>', 'new name')
    .requiredOption('--because <reason>', 'reason, recorded in the audit')
    .option('--json', 'print one JSON object')
    .action((from: string, to: string, flags: ActFlags) =>
      withPool(flags.json === true, async pool => {
        const { ledgerRows } = await renameConsumer(pool, from, to, flags.because)
        print(
          flags.json === true,
          { ok: true, ledgerRows },
          () =>
            `${from} was renamed to ${to}, with its markers, positions and ${counted(ledgerRows, 'ledger row')}.`,
        )
      }),
    )
}

function separateCommand(): Command {
  return new Command('separate')
    .description('allow a new consumer to read the source of another one; both apply every message')
    .argument('<name>', 'the new consumer')
    .requiredOption('--from <name>', 'the consumer that already reads the source')
    .requiredOption('--because <reason>', 'reason, recorded in the audit')
    .option('--json', 'print one JSON object')
    .action((name: string, flags: ActFlags & { from: string }) =>
      withPool(flags.json === true, async pool => {
        await separateConsumer(pool, name, flags.from, flags.because)
        print(flags.json === true, { ok: true }, () => `${name} may read the source of ${flags.from}.`)
      }),
    )
}
