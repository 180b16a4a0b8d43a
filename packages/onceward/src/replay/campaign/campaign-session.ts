import type { SqlTransaction } from '../../contract/handler.ts'
import type { Progress } from '../../ports/source.ts'
import type { MarkerAnswer, MarkerStatus, StoreSession } from '../../ports/store.ts'
import type { CampaignJournal } from './campaign-journal.ts'
import { claimUnlessRetried } from './claim-unless-retried.ts'

export interface CampaignSessionOptions {
  readonly journal: CampaignJournal
  readonly consumerId: number
  /**
   * What was decided without an effect and is decided anew; the dead and the quarantined where no row of
   * theirs is left.
   */
  readonly reconsiders: readonly MarkerStatus[]
  /** What waits at the broker for its next live try is left to it. */
  readonly leavesRetried: boolean
  /** Among the ignored: only what people gave up and the campaign names. */
  readonly ignoredByPeopleOnly: boolean
  /** Absent where the campaign takes up what people gave up. */
  readonly givenUp: StoreSession<unknown>['givenUp']
  /** Called instead of the store's own fence. */
  readonly advance: (progress: readonly Progress[]) => Promise<void>
}

type Own<Tx> = Pick<
  StoreSession<Tx>,
  'insertMarkers' | 'conclude' | 'positions' | 'advance' | 'journal' | 'givenUp' | 'givenUpElsewhere'
>

/**
 * One batch of a campaign: the store's session, but for the position and the journal, which are the
 * campaign's.
 */
export function campaignSession<Tx>(
  inner: StoreSession<Tx>,
  options: CampaignSessionOptions,
): StoreSession<Tx> {
  const { journal, consumerId, reconsiders, leavesRetried, ignoredByPeopleOnly, givenUp, advance } = options
  const forgotten: Forgotten = new Map()
  const claim: StoreSession<Tx>['insertMarkers'] =
    reconsiders.length > 0
      ? (claims, as) =>
          claimAnew(inner, { consumerId, reconsiders, ignoredByPeopleOnly, forgotten }, claims, as)
      : (claims, as) => inner.insertMarkers(claims, as)
  const own: Own<Tx> = {
    journal,
    ...(givenUp && { givenUp }),
    givenUpElsewhere: undefined,
    async advance(progress) {
      if (forgotten.size > 0) await assertNoneRebuilt(inner, consumerId, [...forgotten.keys()])
      await advance(progress)
    },
    async conclude(conclusions) {
      await inner.conclude(conclusions)
      const undecided = conclusions.flatMap(({ id, to }) =>
        to === 'retry' ? (forgotten.get(id ?? '') ?? []) : [],
      )
      if (undecided.length > 0) await sqlOf(inner).query(remember, [`[${undecided}]`])
    },
    // Only asked where there are no markers, and campaigns have them.
    positions: () => Promise.resolve(new Map()),
    insertMarkers: leavesRetried
      ? (claims, as) => claimUnlessRetried(inner, consumerId, claim, claims, as)
      : claim,
  }
  return new Proxy(inner, {
    get(session, name) {
      if (Object.hasOwn(own, name)) return own[name as keyof Own<Tx>]
      const value: unknown = Reflect.get(session, name, session)
      return typeof value === 'function' ? value.bind(session) : value
    },
  })
}

/**
 * The generation whose tables were swapped in last: what it has applied has its effect there, whatever the
 * live marker says.
 */
const lastRebuilt = `
  select o.id from onceward.consumer mine
  join onceward.campaign c on c.consumer_name = mine.name and c.live_generation = mine.generation
  join onceward.consumer o on o.name = c.consumer_name and o.generation = c.generation
  where mine.id = $1 and c.mode = 'rebuild' and c.state in ('swapped', 'finished') order by c.swapped_at desc limit 1`

/** By id, the markers that a batch removed to claim their messages anew, as JSON. */
type Forgotten = Map<string, string>

/** What is to be tried again is as it was until then: the campaign may end before. */
const remember =
  'insert into onceward.inbox select * from jsonb_populate_recordset(null::onceward.inbox, $1::jsonb)'

async function claimAnew<Tx>(
  session: StoreSession<Tx>,
  {
    consumerId,
    reconsiders,
    ignoredByPeopleOnly,
    forgotten,
  }: Pick<CampaignSessionOptions, 'consumerId' | 'reconsiders' | 'ignoredByPeopleOnly'> & {
    readonly forgotten: Forgotten
  },
  ...[claims, as]: Parameters<StoreSession<Tx>['insertMarkers']>
): Promise<readonly MarkerAnswer[]> {
  const answers = await session.insertMarkers(claims, as)
  const again = claims.filter((_, index) => leftNothing(answers[index]!, reconsiders))
  if (again.length === 0) return answers
  const { rows } = await sqlOf(session).query<{ id: string; marker: string }>(
    `with rebuilt as materialized (${lastRebuilt}),
     people as materialized (select array[$1::integer] || onceward.other_generations($1) as ids),
     undone as materialized (
       select i.* from unnest($2::text[]) as asked (id) cross join lateral (
         select message_id, ctid as place from onceward.inbox i where i.consumer_id = $1 and i.message_id = asked.id and i.status = any($3::onceward.marker_status[])
           and not (i.status = 'ignored' and $4 and not exists (select from onceward.closed_held x where x.consumer_id = any ((select ids from people)::integer[])
             and x.message_id = i.message_id and onceward.is_given_up(x.closed_as, x.reopened_by) offset 0))
           and not (i.status in ('dead', 'quarantined') and exists (select from onceward.held h where h.consumer_id = $1
             and h.message_id = i.message_id and h.state in ('parked', 'dead', 'quarantined') offset 0))
           and not exists (select from onceward.inbox s where s.consumer_id = (select id from rebuilt)
             and s.message_id = i.message_id and s.status = 'applied' offset 0)
         limit 1 for update) i)
     delete from onceward.inbox where ctid = any (array(select place from undone))
       and consumer_id + 0 = $1 and message_id || '' = any (array(select message_id from undone))
     returning message_id as id, to_jsonb(inbox)::text as marker`,
    [consumerId, again.map(({ id }) => id), reconsiders, ignoredByPeopleOnly],
  )
  for (const { id, marker } of rows) forgotten.set(id, marker)
  const anew = await session.insertMarkers(again, as)
  const byId = new Map(again.map(({ id }, index) => [id, anew[index]!]))
  return claims.map(({ id }, index) => byId.get(id) ?? answers[index]!)
}

/**
 * A swap that commits after the claim makes way for what the batch writes then, and has the effect already.
 * Such a batch runs again.
 */
async function assertNoneRebuilt<Tx>(
  session: StoreSession<Tx>,
  consumerId: number,
  ids: readonly string[],
): Promise<void> {
  const { rows } = await sqlOf(session).query(
    `select from unnest($2::text[]) as asked (id) where exists (select from onceward.inbox s
       where s.consumer_id = (${lastRebuilt}) and s.message_id = asked.id and s.status = 'applied' offset 0)`,
    [consumerId, ids],
  )
  if (rows.length > 0)
    throw Object.assign(new Error('tables were swapped in while a message was claimed anew'), {
      code: '40001',
    })
}

/** Statements of the campaign's own, in the batch's transaction. */
export function sqlOf<Tx>(session: StoreSession<Tx>): SqlTransaction {
  return session.handlerTransaction(true).sql!
}

function leftNothing(answer: MarkerAnswer, reconsiders: readonly MarkerStatus[]): boolean {
  return answer.kind === 'seen' && answer.sameDigest && reconsiders.includes(answer.status)
}
