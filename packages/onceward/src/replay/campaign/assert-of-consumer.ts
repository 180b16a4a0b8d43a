import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import { type Campaign, refused } from './campaign.ts'

/** A campaign runs with the contract it was created for, and nobody else's. */
export function assertOfConsumer(
  { id, consumer, liveGeneration, mode }: Campaign,
  { name, generation, replay }: Consumer<unknown, SqlTransaction>,
): void {
  if (consumer !== name || liveGeneration !== generation)
    throw refused(
      `Campaign ${id} is of ${consumer} (generation ${liveGeneration}), and this file is ${name} (generation ${generation}).`,
    )
  if (!replay.modes.includes(mode)) throw refused(`The contract of ${name} does not allow ${mode} any more.`)
}
