import type { Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'

/** Options that conflict with stored mode. */
export function inboxProblems(contract: ConsumerContract, wrong: Report): void {
  if (contract.inbox?.mode !== 'stored') return
  if (contract.order === 'partition')
    wrong(
      'order',
      "'partition' cannot be preserved by workers, which order by key only: use 'key' with inbox.mode 'stored'",
    )
  if (contract.dedup !== undefined && contract.dedup !== 'marker')
    wrong(
      'dedup',
      "must be 'marker' with inbox.mode 'stored': only a marker distinguishes a stored message from an applied one",
    )
  if (contract.settle?.when === 'before effect')
    wrong(
      'settle.when',
      "'before effect' loses messages that inbox.mode 'stored' would keep: remove one of the two",
    )
}
