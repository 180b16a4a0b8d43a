import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import { type Campaign, refused } from './campaign.ts'

/** Refuses to run a campaign with the contract of another consumer or generation. */
export function assertOfConsumer(
  { id, consumer, liveGeneration, mode }: Campaign,
  { name, generation, replay }: Consumer<unknown, SqlTransaction>,
): void {
  if (consumer !== name || liveGeneration !== generation)
    throw refused(
      `Campaign ${id} belongs to ${consumer} (generation ${liveGeneration}); this file declares ${name} (generation ${generation}).`,
    )
  if (!replay.modes.includes(mode)) throw refused(`The contract of ${name} no longer allows mode ${mode}.`)
}
