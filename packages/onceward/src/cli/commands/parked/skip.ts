import { Command } from 'commander'
import { skipParked } from '../../../operations/parking/skip-parked.ts'
import { withPool } from '../../database.ts'
import { print } from '../../output.ts'
import { acting } from './flags.ts'
import { confirmedSelection, type ParkedActFlags } from './preview.ts'

export function skipCommand(): Command {
  const command = new Command('skip')
    .description('skip messages for a reason: they are not applied, and messages behind them continue')
    .argument('[ids...]', 'ids from "onceward parked list"; or select by options')
  return acting(command, '1000').action((ids: string[], flags: ParkedActFlags) =>
    withPool(flags.json === true, async pool => {
      const selection = await confirmedSelection(pool, ids, flags, 'skip')
      if (selection === null) return
      const { consumer, because } = flags
      const { closed, freed } = await skipParked(pool, { consumer, because, ...selection })
      print(
        flags.json === true,
        { ok: true, closed, freed },
        () => `${closed} skipped, ${freed} behind them released.`,
      )
    }),
  )
}
