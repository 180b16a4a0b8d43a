import type { Received } from '../../message/received.ts'
import type { StoreSession } from '../../ports/store.ts'
import { type Fact, givenUpCode } from './outcome.ts'
import { Verdict } from './verdicts.ts'

/**
 * Campaigns: what people gave up gets its fact and is left out. Asked before anything is claimed, so that no
 * marker passes for an effect.
 */
export async function leaveGivenUp<M, Tx>(
  batch: readonly Received<M>[],
  facts: Map<Received<M>, Fact>,
  session: Pick<StoreSession<Tx>, 'campaign'>,
): Promise<readonly Received<M>[]> {
  const find = session.campaign?.givenUp
  if (find === undefined || batch.length === 0) return batch
  const givenUp = await find(batch)
  if (givenUp.size === 0) return batch
  return batch.filter((received, index) => {
    const said = givenUp.get(index)
    if (said === undefined) return true
    facts.set(received, { kind: 'given up', said })
    return false
  })
}

/**
 * Outside of campaigns: what people gave up under another generation is ignored. Asked once it is claimed, so
 * that the marker of this generation says so, however long the other's is kept.
 */
export async function ignoreGivenUp<M, Tx>(
  asked: readonly Received<M>[],
  facts: Map<Received<M>, Fact>,
  session: Pick<StoreSession<Tx>, 'history'>,
): Promise<ReadonlySet<Received<M>>> {
  const ignored = new Set<Received<M>>()
  const find = session.history?.givenUpElsewhere
  if (find === undefined || asked.length === 0) return ignored
  for (const [index, said] of await find(asked)) {
    const received = asked[index]!
    ignored.add(received)
    facts.set(received, { kind: 'verdict', verdict: Verdict.ignore(said, givenUpCode) })
  }
  return ignored
}
