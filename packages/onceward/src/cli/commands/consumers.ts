import { Command } from 'commander'
import { OncewardError } from '../../errors.ts'
import { listReaders, renameConsumer, separateConsumer } from '../../operations/server/names.ts'
import { type ConsumerDetail, readConsumerDetail } from '../../telemetry/consumer-detail.ts'
import { whyUnknownConsumer } from '../../telemetry/consumer-names.ts'
import { withPool } from '../database.ts'
import { counted, oneLine, print } from '../output.ts'
import { table } from '../table.ts'
import { wholeNumber } from '../whole-number.ts'

interface Flags {
  json?: boolean
}
type ActFlags = Flags & { because: string }

/** Consumer names and the sources they read. */
export function consumersCommand(): Command {
  return new Command('consumers')
    .description('consumers of this database and the sources they read')
    .addCommand(listCommand())
    .addCommand(showCommand())
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

function showCommand(): Command {
  return new Command('show')
    .description('show the newest runs of a consumer, and its keys that are blocked longest')
    .argument('<name>', 'consumer name')
    .option('--limit <count>', 'maximum number of runs, and of keys', '20')
    .option('--json', 'print one JSON object')
    .action((name: string, flags: Flags & { limit: string }) =>
      withPool(flags.json === true, async pool => {
        const countMax = wholeNumber(flags.limit, '--limit', 'onceward consumers list')
        const unknown = await whyUnknownConsumer(pool, name)
        if (unknown !== null) throw new OncewardError('usage', oneLine(unknown))
        const detail = await readConsumerDetail(pool, name, { runs: countMax, blockedKeys: countMax })
        print(flags.json === true, { ok: true, ...detail }, () => detailText(name, detail))
      }),
    )
}

function detailText(name: string, { runs, blockedKeys }: ConsumerDetail): string {
  const runRows = runs.map(run => [
    run.id,
    run.instance,
    run.handlerVersion,
    run.campaign === null ? run.mode : `campaign ${run.campaign}`,
    run.startedAt.toISOString().slice(0, 19),
    run.heartbeatAt.toISOString().slice(0, 19),
    stateOf(run),
  ])
  const keyRows = blockedKeys.map(one => [
    one.key,
    one.state,
    one.since.toISOString().slice(0, 19),
    one.waiting,
    one.head,
    one.headCode,
  ])
  const runHeads = ['run', 'instance', 'handler', 'mode', 'started', 'heartbeat', 'state']
  const keyHeads = ['key', 'state', 'since', 'behind', 'head', 'code']
  const keys =
    keyRows.length === 0
      ? 'No key is blocked.'
      : `${table(keyHeads, keyRows)}\n\nnext: onceward parked key <key> --consumer ${oneLine(name)}`
  return `${runRows.length === 0 ? 'It has not run.' : table(runHeads, runRows)}\n\n${keys}`
}

function stateOf(run: ConsumerDetail['runs'][number]): string {
  if (run.haltedReason !== null) return `halted: ${run.haltedReason}`
  if (run.endedAt !== null) return 'ended'
  if (run.pausedBecause !== null) return `paused: ${run.pausedBecause}`
  return run.alive ? 'running' : 'silent'
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
