import type { SqlTransaction } from '../../contract/handler.ts'
import {
  callReopenGivenUp,
  countGivenUpByConsumer,
  findGivenUpForCampaign,
  findGivenUpInShadow,
} from '../../drivers/postgres/campaign/given-up.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'
import type { DecidedMessage } from '../../ports/campaign-session.ts'
import type { FindGivenUp } from '../../ports/history.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import { type Campaign, refused } from './campaign.ts'
import { sqlOf } from './sql-of.ts'

export function findGivenUp<Tx>(session: StoreSession<Tx>, campaignId: string): FindGivenUp {
  return messages => findGivenUpForCampaign(sqlOf(session), campaignId, messages)
}

/**
 * Records that the campaign decided messages again that an operator had given up. From then on the campaign's
 * outcome counts.
 */
export async function reopenGivenUp(
  tx: SqlTransaction,
  campaignId: string,
  decided: readonly DecidedMessage[],
): Promise<void> {
  const anew = decided.filter(({ decision }) => !leftAsItWas.has(decision.outcome))
  if (anew.length === 0) return
  const messages = anew.map(({ received }) => received)
  await callReopenGivenUp(tx, campaignId, messages)
}

const leftAsItWas = new Set(['duplicate', 'already held', 'retry'])

/** Messages that operators gave up, which the campaign leaves out or includes. */
export interface GivenUp {
  /** All of the consumer, within the selection or not: the selection is not read yet. */
  readonly messages: number
  readonly included: boolean
}

export async function countGivenUp(client: SqlClient, { id, selection }: Campaign): Promise<GivenUp> {
  const messages = await countGivenUpByConsumer(client, id)
  return { messages, included: selection.includingSkipped === true }
}

export async function assertNoneGivenUp(client: SqlClient, { id }: Campaign): Promise<void> {
  const found = await findGivenUpInShadow(client, id)
  if (found.length === 0) return
  const [messages, are] = found.length === 1 ? ['message', 'is'] : ['messages', 'are']
  const first = found.slice(0, 5)
  throw refused(
    `${found.length} ${messages} that operators gave up ${are}, or may be, in the rebuilt tables: ${first.join(', ')}. The decision came while the rebuild ran. Cancel campaign ${id} and rebuild again: the new rebuild leaves them out.`,
  )
}
