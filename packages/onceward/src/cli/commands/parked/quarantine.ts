import { Command } from 'commander'
import { quarantineParked } from '../../../operations/parking/quarantine-parked.ts'
import { withPool } from '../../database.ts'
import { print } from '../../output.ts'
import { acting } from './flags.ts'
import { confirmedSelection, type ParkedActFlags } from './preview.ts'

export function quarantineCommand(): Command {
  const command = new Command('quarantine')
    .description(
      'quarantine parked messages: redrives of parked messages leave them out, their keys stay blocked',
    )
    .argument('[ids...]', 'ids from "onceward parked list"; or select by options')
  return acting(command, '1000').action((ids: string[], flags: ParkedActFlags) =>
    withPool(flags.json === true, async pool => {
      const selection = await confirmedSelection(pool, ids, flags, 'quarantine')
      if (selection === null) return
      const { consumer, because } = flags
      const { quarantined } = await quarantineParked(pool, { consumer, because, ...selection })
      print(flags.json === true, { ok: true, quarantined }, () => `${quarantined} quarantined.`)
    }),
  )
}
