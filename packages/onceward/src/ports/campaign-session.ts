import type { FindGivenUp } from './history.ts'
import type { Delivery } from './source.ts'

export interface CampaignSession {
  /** The campaign's journal, written by `log.advance`, with the effects or not at all. */
  readonly journal: BatchJournal
  /** They get no marker and have no effect. Absent where the campaign includes what people gave up. */
  readonly givenUp?: FindGivenUp | undefined
}

/**
 * What a campaign records of a batch. Called between the handlers and `advance`; a round that fails is
 * recorded again.
 */
export interface BatchJournal {
  /** Effects that handlers requested and the mode suppresses. */
  suppressed(effects: readonly SuppressedEffect[]): void
  /** The decision on each message. */
  decided(decided: readonly DecidedMessage[]): void
}

export interface SuppressedEffect {
  readonly kind: 'external' | 'call' | 'publish'
  readonly messageId: string
  readonly target: string
  readonly key: string
  readonly digest: Buffer
}

export interface DecidedMessage {
  readonly received: {
    readonly id: string | null
    readonly digest: Buffer
    readonly delivery: Pick<Delivery, 'position' | 'partition' | 'place'>
    readonly orderKey?: string | null
    readonly envelope?: { readonly aggregateId: string | null }
  }
  readonly decision: { readonly outcome: string; readonly code: string; readonly reason: string }
}
