import { Command } from 'commander'
import type { KeyView } from '../../../drivers/postgres/parking/read-key.ts'
import { showKey } from '../../../operations/parking/show-key.ts'
import { whyUnknownConsumer } from '../../../telemetry/consumer-names.ts'
import { withPool } from '../../database.ts'
import { counted, oneLine, print } from '../../output.ts'
import { table } from '../../table.ts'
import { wholeNumber } from '../../whole-number.ts'
import { lister } from './flags.ts'

export function keyCommand(): Command {
  return new Command('key')
    .description('show one order key: whether it is blocked, and its messages in the order of processing')
    .argument('<key>', 'order key')
    .requiredOption('--consumer <name>', 'the consumer of the key')
    .option('--limit <count>', 'maximum number of messages', '100')
    .option('--json', 'print one JSON object')
    .action((key: string, flags: { json?: boolean; consumer: string; limit: string }) =>
      withPool(flags.json === true, async pool => {
        const view = await showKey(pool, flags.consumer, key, wholeNumber(flags.limit, '--limit', lister))
        const unknown = view.messages.length === 0 ? await whyUnknownConsumer(pool, flags.consumer) : null
        print(flags.json === true, { ok: true, key: view }, () =>
          unknown === null ? keyText(view) : oneLine(unknown),
        )
      }),
    )
}

function keyText(view: KeyView): string {
  if (view.messages.length === 0) return `No messages are held under key ${oneLine(view.key)}.`
  const rows = view.messages.map(one => [
    one.head ? 'next' : '',
    one.id,
    one.messageId,
    one.state,
    one.code,
    one.firstAt.toISOString(),
    one.reason.slice(0, 60),
  ])
  return [
    blockedText(view),
    '',
    table(['', 'id', 'message', 'state', 'code', 'first', 'reason'], rows),
    ...(view.more ? ['', 'More messages are held: raise --limit.'] : []),
    '',
    `next: onceward parked show ${view.messages[0]!.id}`,
  ].join('\n')
}

function blockedText({ key, blocked }: KeyView): string {
  const name = `Key ${oneLine(key)}`
  if (blocked === null) return `${name} is not blocked.`
  const since = `since ${blocked.since.toISOString()}`
  const behind = counted(blocked.waiting, 'message')
  return blocked.state === 'parked'
    ? `${name} is blocked ${since}: ${behind} behind the head, which waits for an operator.`
    : `${name} was released: workers process its messages, ${behind} behind the head.`
}
