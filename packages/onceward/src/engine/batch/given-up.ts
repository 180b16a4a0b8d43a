import type { Received } from '../../message/received.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import { type Fact, givenUpCode } from './outcome.ts'
import { Verdict } from './verdicts.ts'

/**
 * For campaigns: messages that an operator gave up get their fact and leave the batch. Checked before markers
 * are inserted, so that no marker stands for an effect that did not happen.
 */
export async function removeGivenUp<M, Tx>(
  batch: readonly Received<M>[],
  facts: Map<Received<M>, Fact>,
  session: Pick<StoreSession<Tx>, 'campaign'>,
): Promise<readonly Received<M>[]> {
  const find = session.campaign?.givenUp
  if (find === undefined || batch.length === 0) return batch
  const givenUp = await find(batch)
  if (givenUp.size === 0) return batch
  return batch.filter((received, index) => {
    const reason = givenUp.get(index)
    if (reason === undefined) return true
    facts.set(received, { kind: 'given up', reason })
    return false
  })
}

/**
 * Outside campaigns: ignores messages that an operator gave up under another generation. Checked after
 * markers are inserted, so that this generation's marker records it even when the other's is removed.
 */
export async function ignoreGivenUp<M, Tx>(
  asked: readonly Received<M>[],
  facts: Map<Received<M>, Fact>,
  session: Pick<StoreSession<Tx>, 'history'>,
): Promise<ReadonlySet<Received<M>>> {
  const ignored = new Set<Received<M>>()
  const find = session.history?.givenUpElsewhere
  if (find === undefined || asked.length === 0) return ignored
  for (const [index, reason] of await find(asked)) {
    const received = asked[index]!
    ignored.add(received)
    facts.set(received, { kind: 'verdict', verdict: Verdict.ignore(reason, givenUpCode) })
  }
  return ignored
}
