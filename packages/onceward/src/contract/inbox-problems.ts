import { isRecord, oneOf, type Report, unknownKeys, wholeNumber } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'

/** Shorter leases would be lost to a garbage collection or a busy server. */
const leaseMinMs = 500

/** What the contract says about working later, and what does not go together with it. */
export function inboxProblems(contract: ConsumerContract, wrong: Report): void {
  const { inbox } = contract
  if (inbox === undefined) return
  if (!isRecord(inbox)) return wrong('inbox', 'must be an object')
  unknownKeys(inbox, 'inbox', 'inbox.', wrong)
  const { mode, leaseMs, workers } = inbox as NonNullable<ConsumerContract['inbox']>
  if (mode !== undefined) oneOf(mode, ['transactional', 'stored'], 'inbox.mode', wrong)
  wholeNumber(leaseMs, 'inbox.leaseMs', leaseMinMs, 24 * 3_600_000, wrong)
  wholeNumber(workers, 'inbox.workers', 1, 64, wrong)
  if (mode !== 'stored') return
  if (contract.order === 'partition')
    wrong(
      'order',
      "'partition' cannot be kept by workers, which know keys only: use 'key' with inbox.mode 'stored'",
    )
  if (contract.dedup !== undefined && contract.dedup !== 'marker')
    wrong(
      'dedup',
      "must be 'marker' with inbox.mode 'stored': only a marker can tell what is stored from what is done",
    )
  if (contract.settle?.when === 'before effect')
    wrong(
      'settle.when',
      "'before effect' loses messages that inbox.mode 'stored' would keep: leave one of the two out",
    )
}
