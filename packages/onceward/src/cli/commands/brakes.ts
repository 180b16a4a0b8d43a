import { Command } from 'commander'
import type { BrakeRow } from '../../drivers/postgres/run/brakes.ts'
import { readBrakes, releaseBrake } from '../../operations/brakes.ts'
import { type ActFlags, actOptions } from '../act-flags.ts'
import { withPool } from '../database.ts'
import { print } from '../output.ts'
import { table } from '../table.ts'

interface Flags {
  json?: boolean
}

export function brakesCommand(): Command {
  const list = new Command('brakes')
    .description('event types that are paused because most of their messages fail for one cause')
    .option('--json', 'print one JSON object')
    .action((flags: Flags) =>
      withPool(flags.json === true, async pool => {
        const brakes = await readBrakes(pool)
        print(flags.json === true, { ok: true, brakes }, () => brakeTable(brakes))
      }),
    )
  return list.addCommand(releaseCommand())
}

function releaseCommand(): Command {
  const command = new Command('release')
    .description('continue with an event type although no probe was applied: failures count attempts again')
    .argument('[type]', 'event type, from "onceward brakes"; none for messages without a type')
  return actOptions(command).action(async (typed: string | undefined, flags: ActFlags) => {
    const type = typed ?? ''
    await withPool(flags.json === true, async pool => {
      await releaseBrake(pool, { ...flags, type })
      print(
        flags.json === true,
        { ok: true, consumer: flags.consumer, type },
        () => `Event type ${type === '' ? '(no type)' : type} of ${flags.consumer} continues within seconds.`,
      )
    })
  })
}

function brakeTable(brakes: readonly BrakeRow[]): string {
  if (brakes.length === 0) return 'No event type is paused.'
  return table(
    ['consumer', 'type', 'cause', 'messages', 'version', 'since'],
    brakes.map(one => [
      one.consumer,
      one.type || '(no type)',
      one.cause,
      one.messages,
      one.version,
      one.since,
    ]),
  )
}
