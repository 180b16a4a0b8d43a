import type { SqlTransaction } from '../contract/handler.ts'
import type { Progress } from '../contracts/source.ts'
import type { ClaimAnswer, StoreSession } from '../contracts/store.ts'
import type { CampaignBook } from './campaign-book.ts'

export interface CampaignSessionOptions {
  readonly book: CampaignBook
  readonly consumerId: number
  /** Repair: what was decided without an effect is decided anew. */
  readonly reconsiders: boolean
  /** Called instead of the store's own fence. */
  readonly advance: (progress: readonly Progress[]) => Promise<void>
}

type Own<Tx> = Pick<StoreSession<Tx>, 'claim' | 'positions' | 'advance' | 'book'>

/** One batch of a campaign: the store's session, but for the position and the book, which are the campaign's. */
export function campaignSession<Tx>(
  inner: StoreSession<Tx>,
  { book, consumerId, reconsiders, advance }: CampaignSessionOptions,
): StoreSession<Tx> {
  const own: Own<Tx> = {
    book,
    advance,
    // Only asked where there are no markers, and campaigns have them.
    positions: () => Promise.resolve(new Map()),
    claim: reconsiders
      ? (claims, as) => claimAnew(inner, consumerId, claims, as)
      : (claims, as) => inner.claim(claims, as),
  }
  return new Proxy(inner, {
    get(session, name) {
      if (Object.hasOwn(own, name)) return own[name as keyof Own<Tx>]
      const value: unknown = Reflect.get(session, name, session)
      return typeof value === 'function' ? value.bind(session) : value
    },
  })
}

async function claimAnew<Tx>(
  session: StoreSession<Tx>,
  consumerId: number,
  ...[claims, as]: Parameters<StoreSession<Tx>['claim']>
): Promise<readonly ClaimAnswer[]> {
  const answers = await session.claim(claims, as)
  const again = claims.filter((_, index) => leftNothing(answers[index]!))
  if (again.length === 0) return answers
  await sqlOf(session).query(
    `delete from onceward.inbox where ctid = any (array(
       select ctid from unnest($2::text[]) as asked (id) cross join lateral (
         select ctid from onceward.inbox i where i.consumer_id = $1 and i.message_id = asked.id and i.status in ('ignored', 'stale')
         limit 1 for update) i))`,
    [consumerId, again.map(({ id }) => id)],
  )
  const anew = await session.claim(again, as)
  const byId = new Map(again.map(({ id }, index) => [id, anew[index]!]))
  return claims.map(({ id }, index) => byId.get(id) ?? answers[index]!)
}

/** Statements of the campaign's own, in the batch's transaction. */
export function sqlOf<Tx>(session: StoreSession<Tx>): SqlTransaction {
  return session.lend(true).sql!
}

function leftNothing(answer: ClaimAnswer): boolean {
  return (
    answer.kind === 'seen' && answer.sameDigest && (answer.status === 'ignored' || answer.status === 'stale')
  )
}
