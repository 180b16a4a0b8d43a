import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import type { Environment } from '../../environment.ts'
import type { Store } from '../../ports/store.ts'
import { differs, type TableComparison } from '../../replay/rebuild/compare-tables.ts'
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
    const { id } = await replay.create({
      mode: orders.task === 'rebuild' ? 'rebuild' : 'replay',
      selection: { of: 'file', path: orders.logFile! },
      reason: 'onceward verify',
    })
    await replay.preview(id)
    await replay.run(id)
    if (orders.task === 'rebuild') assertSame(await replay.compare(id))
  } finally {
    await replay.close()
  }
}

function assertSame(tables: readonly TableComparison[]): void {
  const other = tables.filter(differs).map(({ table }) => table)
  if (other.length > 0) throw new Error(`the rebuilt rows of ${other.join(', ')} differ from the live ones`)
}
