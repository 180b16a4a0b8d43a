import type { StoreSession } from '../../contracts/store.ts'
import type { Received } from '../../message/received.ts'
import type { Fact } from './outcome.ts'

/** Campaigns: what people gave up gets its fact and is left out. Asked before anything is claimed, so that no marker passes for an effect. */
export async function leaveGivenUp<M, Tx>(
  batch: readonly Received<M>[],
  facts: Map<Received<M>, Fact>,
  session: Pick<StoreSession<Tx>, 'givenUp'>,
): Promise<readonly Received<M>[]> {
  if (session.givenUp === undefined || batch.length === 0) return batch
  const givenUp = await session.givenUp(batch)
  if (givenUp.size === 0) return batch
  return batch.filter((received, index) => {
    const said = givenUp.get(index)
    if (said === undefined) return true
    facts.set(received, { kind: 'given up', said })
    return false
  })
}
