import type { SqlTransaction } from '../contract/contract.ts'
import type { Position, Progress } from '../contracts/source.ts'
import type {
  AttemptRecord,
  BusinessAnswer,
  BusinessClaim,
  Claim,
  ClaimAnswer,
  Conclusion,
  Intent,
  IntentAnswer,
  Loan,
  Outgoing,
  StoreSession,
} from '../contracts/store.ts'
import type { CampaignBook } from './campaign-book.ts'

export interface CampaignSessionOptions {
  readonly book: CampaignBook
  readonly consumerId: number
  /** Repair: what was decided without an effect is decided anew. */
  readonly reconsiders: boolean
  /** Called instead of the store's own fence. */
  readonly advance: (progress: readonly Progress[]) => Promise<void>
}

/** One batch of a campaign: the store's session, but for the position, which is the campaign's. */
export class CampaignSession<Tx> implements StoreSession<Tx> {
  readonly book: CampaignBook
  readonly held: NonNullable<StoreSession<Tx>['held']>
  readonly #inner: StoreSession<Tx>
  readonly #options: CampaignSessionOptions

  constructor(inner: StoreSession<Tx>, options: CampaignSessionOptions) {
    this.#inner = inner
    this.#options = options
    this.book = options.book
    this.held = inner.held!
  }

  async claim(claims: readonly Claim[], as?: 'applied' | 'stored'): Promise<readonly ClaimAnswer[]> {
    const answers = await this.#inner.claim(claims, as)
    const again = this.#options.reconsiders ? claims.filter((_, index) => leftNothing(answers[index]!)) : []
    if (again.length === 0) return answers
    await sqlOf(this.#inner).query(
      `delete from onceward.inbox where consumer_id = $1 and message_id = any($2::text[]) and status in ('ignored', 'stale')`,
      [this.#options.consumerId, again.map(({ id }) => id)],
    )
    const anew = await this.#inner.claim(again, as)
    const byId = new Map(again.map(({ id }, index) => [id, anew[index]!]))
    return claims.map(({ id }, index) => byId.get(id) ?? answers[index]!)
  }

  blockedKeys(keys: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#inner.blockedKeys(keys)
  }

  claimBusinessKeys(claims: readonly BusinessClaim[]): Promise<readonly BusinessAnswer[]> {
    return this.#inner.claimBusinessKeys(claims)
  }

  lend(shared?: boolean): Loan<Tx> {
    return this.#inner.lend(shared)
  }

  request(intents: readonly Intent[]): Promise<readonly IntentAnswer[]> {
    return this.#inner.request(intents)
  }

  publish(messages: readonly Outgoing[]): Promise<void> {
    return this.#inner.publish(messages)
  }

  countAttempts(failures: readonly AttemptRecord[]): Promise<readonly number[]> {
    return this.#inner.countAttempts(failures)
  }

  conclude(conclusions: readonly Conclusion[]): Promise<void> {
    return this.#inner.conclude(conclusions)
  }

  positions(): Promise<ReadonlyMap<string, Position>> {
    return Promise.resolve(new Map())
  }

  advance(progress: readonly Progress[]): Promise<void> {
    return this.#options.advance(progress)
  }
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
