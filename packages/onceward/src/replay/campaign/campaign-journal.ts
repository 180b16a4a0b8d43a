import type { SqlTransaction } from '../../contract/handler.ts'
import type { Reach } from '../../crash-points.ts'
import { addOutcomes, writeFindings } from '../../drivers/postgres/campaign/campaign-journal.ts'
import { noteSuppressed } from '../../drivers/postgres/sql/note-suppressed.ts'
import { givenUpCode } from '../../engine/batch/outcome.ts'
import type { BatchJournal, DecidedMessage, SuppressedEffect } from '../../ports/campaign-session.ts'
import type { Campaign } from './campaign.ts'
import { reopenGivenUp } from './given-up.ts'

/** Further findings are counted, not listed. */
const findingsMax = 1_000

/**
 * Outcomes that are not findings, because a replay expects them. In a forensic campaign, a message that would
 * have been applied is missing and therefore a finding. So is a fact that was ignored because its key awaits
 * a rebuild, and a message that an operator gave up.
 */
const usual = new Set(['applied', 'duplicate', 'ignored', 'stale', 'retry'])
const forensic = new Set(['duplicate', 'retry'])
const findingCodes = new Set(['rebuild', givenUpCode])

/** Moves the campaign's position. Answers whether a message is already counted. */
export type MovePlace = (
  tx: SqlTransaction,
  decided: readonly DecidedMessage[],
) => Promise<(message: DecidedMessage) => boolean>

/**
 * What one batch of a campaign writes beside its effects: counts, findings, suppressed effects and the
 * position.
 */
export class CampaignJournal implements BatchJournal {
  readonly #campaignId: string
  readonly #expected: ReadonlySet<string>
  readonly #reopens: boolean
  readonly #suppressed: SuppressedEffect[] = []
  #decided: readonly DecidedMessage[] = []

  constructor({ id, selection }: Pick<Campaign, 'id' | 'selection'>, isForensic: boolean) {
    this.#campaignId = id
    this.#reopens = selection.includingSkipped === true && !isForensic
    this.#expected = isForensic ? forensic : usual
  }

  suppressed(effects: readonly SuppressedEffect[]): void {
    this.#suppressed.push(...effects)
  }

  decided(decided: readonly DecidedMessage[]): void {
    this.#decided = decided
  }

  /** `move` is the fence. It is called last, so that the rows it locks are locked only for the commit. */
  async write(tx: SqlTransaction, move: MovePlace): Promise<void> {
    const findings = this.#decided.filter(
      ({ decision }) => !this.#expected.has(decision.outcome) || findingCodes.has(decision.code),
    )
    if (this.#suppressed.length > 0) await noteSuppressed(tx, this.#campaignId, this.#suppressed)
    if (findings.length > 0) await this.#writeFindings(tx, findings)
    if (this.#reopens) await reopenGivenUp(tx, this.#campaignId, this.#decided)
    await this.#count(tx, await move(tx, this.#decided))
  }

  /** In the transaction of the effects. */
  async writeWithEffects(tx: SqlTransaction, move: MovePlace, reach: Reach): Promise<void> {
    await this.write(tx, move)
    reach('replay.journaled')
  }

  async #writeFindings(tx: SqlTransaction, findings: readonly DecidedMessage[]): Promise<void> {
    const rows = findings.slice(0, findingsMax).map(({ received, decision }) => ({
      messageId: received.id ?? received.delivery.position ?? 'without an id',
      outcome: decision.outcome,
      code: decision.code,
      key: received.orderKey ?? received.envelope?.aggregateId ?? null,
      position: received.delivery.position,
      reason: decision.reason,
    }))
    await writeFindings(tx, this.#campaignId, rows, findingsMax)
  }

  async #count(tx: SqlTransaction, isCounted: (message: DecidedMessage) => boolean): Promise<void> {
    const counts = new Map<string, number>()
    for (const message of this.#decided) {
      const { outcome: decided, code } = message.decision
      const outcome = code === givenUpCode ? 'given up' : decided
      if (outcome !== 'retry' && !isCounted(message)) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
    }
    if (counts.size > 0) await addOutcomes(tx, this.#campaignId, counts)
  }
}
