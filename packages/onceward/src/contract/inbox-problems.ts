import type { Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'

/** What does not go together with working later. */
export function inboxProblems(contract: ConsumerContract, wrong: Report): void {
  if (contract.inbox?.mode !== 'stored') return
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
