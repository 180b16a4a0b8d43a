import { Command, Option } from 'commander'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { OncewardError } from '../../errors.ts'
import { reconcileEffect, retryEffect } from '../../operations/ledger-actions.ts'
import {
  type LedgerDetail,
  type LedgerEntry,
  type LedgerFilter,
  ledgerStates,
  listLedger,
  showLedger,
} from '../../telemetry/ledger.ts'
import { type ActFlags, actOptions } from '../act-flags.ts'
import { withPool } from '../database.ts'
import { oneLine, print, safe } from '../output.ts'
import { table } from '../table.ts'
import { rowNumber, wholeNumber } from '../whole-number.ts'

const lister = 'onceward ledger list'

type Flags = { json?: boolean }

export function ledgerCommand(): Command {
  return new Command('ledger')
    .description('external effects: calls made, calls with an unknown outcome, calls that need attention')
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(reconcileCommand())
    .addCommand(retryCommand())
}

function listCommand(): Command {
  return new Command('list')
    .description('list effects that need attention, or all of a message or key; oldest first')
    .option('--consumer <name>', "only this consumer's")
    .option('--target <name>', 'only for this target')
    .option('--type <kind>', 'only of targets of this kind')
    .option('--key <key>', 'only under this effect key')
    .option('--message <id>', 'only requested by this message')
    .option('--business-key <key>', 'only requested by messages with this business key')
    .addOption(
      new Option('--state <state>', 'only in this state; open: everything not completed').choices([
        ...ledgerStates,
        'open',
      ]),
    )
    .option('--limit <count>', 'maximum number of effects', '50')
    .option('--json', 'print one JSON object')
    .action((flags: Flags & Omit<LedgerFilter, 'limit'> & { limit: string }) =>
      withPool(flags.json === true, async pool => {
        const effects = await listLedger(pool, {
          ...flags,
          limit: wholeNumber(flags.limit, '--limit', lister),
        })
        print(flags.json === true, { ok: true, effects }, () => listing(effects))
      }),
    )
}

function showCommand(): Command {
  return new Command('show')
    .description('show one effect with its attempts and acts')
    .argument('<id>', 'effect id, from "onceward ledger list"')
    .option('--json', 'print one JSON object')
    .action((id: string, flags: Flags) =>
      withPool(flags.json === true, async pool =>
        report(flags, await showLedger(pool, rowNumber(id, 'effect id', lister))),
      ),
    )
}

function reconcileCommand(): Command {
  const command = new Command('reconcile')
    .description('record the real outcome of an effect whose outcome is unknown')
    .argument('<id>', 'effect id, from "onceward ledger list"')
    .addOption(
      new Option('--as <finding>', 'whether the effect happened')
        .choices(['completed', 'not-done'])
        .makeOptionMandatory(),
    )
  return actOptions(command).action((id: string, flags: ActFlags & { as: string }) =>
    withPool(flags.json === true, async pool => {
      const finding = flags.as === 'completed' ? 'completed' : 'not done'
      report(flags, await reconcileEffect(pool, await confirmed(pool, id, flags), finding))
    }),
  )
}

function retryCommand(): Command {
  const command = new Command('retry')
    .description('make an effect due now, within the policy of its target')
    .argument('<id>', 'effect id, from "onceward ledger list"')
  return actOptions(command).action((id: string, flags: ActFlags) =>
    withPool(flags.json === true, async pool =>
      report(flags, await retryEffect(pool, await confirmed(pool, id, flags))),
    ),
  )
}

/** Refuses another consumer's effect, and names its consumer. */
async function confirmed(pool: SqlPool, id: string, flags: ActFlags): Promise<ActFlags & { id: string }> {
  const number = rowNumber(id, 'effect id', lister)
  const { consumer } = await showLedger(pool, number)
  if (consumer === flags.consumer) return { ...flags, id: number }
  throw new OncewardError(
    'usage',
    `Effect ${number} belongs to consumer ${oneLine(consumer)}: pass --consumer ${oneLine(consumer)}. Nothing was changed.`,
  )
}

function listing(effects: readonly LedgerEntry[]): string {
  if (effects.length === 0) return 'No external effects match.'
  const listed = table(
    ['id', 'consumer', 'type', 'target', 'key', 'message', 'state', 'attempts', 'last attempt', 'note'],
    effects.map(e => [
      e.id,
      e.consumer,
      e.type ?? '',
      e.target,
      e.key,
      e.messageId,
      e.state,
      e.attempts,
      e.lastAttemptAt?.toISOString() ?? '',
      e.note ?? '',
    ]),
  )
  return `${listed}\n\nnext: onceward ledger show ${effects[0]!.id}`
}

function report(flags: Flags, effect: LedgerDetail): void {
  const { actions, mail, ...facts } = effect
  const shown = { ...facts, ...(mail && { recipient: mail.to.join(', '), subject: mail.subject }) }
  print(flags.json === true, { ok: true, effect }, () =>
    [
      ...Object.entries(shown).map(([name, value]) => `${name.padEnd(16)} ${safe(text(value))}`),
      ...actions.map(
        a => `${text(a.at)}  ${safe(a.actor)}: ${a.action}, ${a.from} to ${a.to}: ${safe(a.reason)}`,
      ),
      '',
      ...nextSteps(effect),
    ].join('\n'),
  )
}

/** What an operator may do now. */
function nextSteps({ id, consumer, state, waitsForPeople }: LedgerDetail): string[] {
  const as = `--consumer ${oneLine(consumer)} --because …`
  const reconcile = `onceward ledger reconcile ${id} --as completed|not-done ${as}`
  const retry = `onceward ledger retry ${id} ${as}`
  if (state === 'completed') return ['It is completed: nothing is left to do.']
  if (state === 'in flight') return ['A dispatcher is calling the target now.']
  if (state === 'unknown' || state === 'reconciling') return [`next: ask the target, then ${reconcile}`]
  return waitsForPeople ? [`next: ${retry}`] : [`A dispatcher will call the target again. Sooner: ${retry}`]
}

function text(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value ?? '')
}
