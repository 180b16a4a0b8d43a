import { Command } from 'commander'
import { listReaders, renameConsumer, separateConsumer } from '../../operations/server/names.ts'
import { withPool } from '../database.ts'
import { counted, print, table } from '../output.ts'

interface Flags {
  json?: boolean
}
type Said = Flags & { because: string }

/** Names under which consumers remember. */
export function consumersCommand(): Command {
  return new Command('consumers')
    .description('who reads what, under which name it remembers')
    .addCommand(listCommand())
    .addCommand(renameCommand())
    .addCommand(separateCommand())
}

function listCommand(): Command {
  return new Command('list')
    .description('all of them')
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
    .description('give all that a consumer remembers to a new name; none of its processes may run')
    .argument('<from>', 'the name it had')
    .argument('<to>', 'the name it has now')
    .requiredOption('--because <reason>', 'why; it is recorded')
    .option('--json', 'print one JSON object')
    .action((from: string, to: string, flags: Said) =>
      withPool(flags.json === true, async pool => {
        const { ledgerRows } = await renameConsumer(pool, from, to, flags.because)
        print(
          flags.json === true,
          { ok: true, ledgerRows },
          () =>
            `${from} is ${to} now, with its markers, positions and ${counted(ledgerRows, 'row')} of the ledger.`,
        )
      }),
    )
}

function separateCommand(): Command {
  return new Command('separate')
    .description('let a consumer read what another reads, with a memory of its own: both apply what comes')
    .argument('<name>', 'the consumer that begins')
    .requiredOption('--from <name>', 'the one that reads it already')
    .requiredOption('--because <reason>', 'why; it is recorded')
    .option('--json', 'print one JSON object')
    .action((name: string, flags: Said & { from: string }) =>
      withPool(flags.json === true, async pool => {
        await separateConsumer(pool, name, flags.from, flags.because)
        print(flags.json === true, { ok: true }, () => `${name} may begin beside ${flags.from}.`)
      }),
    )
}
