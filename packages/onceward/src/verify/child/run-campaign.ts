import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import type { Environment } from '../../environment.ts'
import type { Store } from '../../ports/store.ts'
import { openReplay } from '../../runtime/replay.ts'
import type { ChildOrders } from './orders.ts'

/** Replays the file of all messages by a campaign, as an operator would after a doubt. */
export async function runCampaignHere(
  verified: Consumer<unknown, SqlTransaction>,
  orders: ChildOrders,
  store: Store<SqlTransaction> | undefined,
  env: Environment,
): Promise<void> {
  const replay = await openReplay(verified, { databaseUrl: orders.databaseUrl, store, env })
  try {
    const mode = orders.task === 'rebuild' ? 'rebuild' : 'replay'
    const campaign = await replay.create({
      mode,
      selection: { of: 'file', path: orders.logFile! },
      reason: 'onceward verify',
    } as never)
    await replay.run(campaign.id)
  } finally {
    await replay.close()
  }
}
