import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'
import { durationMs, durationText } from './duration.ts'
import { contractOptions } from './options/table.ts'
import { type Retention, resolveRetention } from './retention.ts'
import type { RetentionSection } from './upkeep-sections.ts'

/**
 * A look for a duplicate goes through the list of days: 0.6 ms with 35 of them, 2 ms with 104, 50 ms with
 * 400, and each is a lock of its transaction.
 */
const daysMaxMs = 100 * 86_400_000

/** Forgetting one of these earlier than the marker lets half of a duplicate through. */
const notShorter = ['businessKeys', 'effects', 'attempts'] as const

export function retentionProblems(contract: ConsumerContract, wrong: Report): void {
  const { retention } = contract
  if (!isRecord(retention) || typeof contract.risk !== 'string') return
  if (isUnreadable(retention)) return
  const kept = resolveRetention(retention, contract.risk)
  for (const name of notShorter) {
    if (kept[name] < kept.markers)
      wrong(
        `retention.${name}`,
        `is ${durationText(kept[name])}, shorter than markers (${durationText(kept.markers)}): a repeat would then be half recognised`,
      )
  }
  if (retention.partitions !== undefined) partitionProblems(contract, kept, wrong)
  if (contract.dedup !== undefined && contract.dedup !== 'marker' && retention.markers !== undefined)
    wrong('retention.markers', `means nothing with dedup '${contract.dedup}', which writes none`)
}

/** Terms are compared only where all of them can be read. */
function isUnreadable(retention: RetentionSection): boolean {
  return contractOptions.below('retention').some(({ name, option: { kind } }) => {
    const term = retention[name as keyof RetentionSection]
    return kind.inFile?.kind === 'duration' && term !== undefined && durationMs(term) === null
  })
}

/** A day can be dropped only where it is a function of the id, and only whole. */
function partitionProblems(
  { identity, dedup }: ConsumerContract,
  { action, markers }: Retention,
  wrong: Report,
): void {
  const place = 'retention.partitions'
  if (identity?.idTime === undefined)
    wrong(place, "needs ids that tell their day: set identity.idTime to 'uuidv7' or 'ulid', or leave it out")
  if (dedup !== undefined && dedup !== 'marker')
    wrong(place, `means nothing with dedup '${dedup}', which writes no markers: leave it out`)
  if (action === 'archive')
    wrong(
      place,
      "drops whole days, which nobody could archive: set retention.action to 'delete', or leave it out",
    )
  if (markers > daysMaxMs)
    wrong(
      place,
      `is for up to ${durationText(daysMaxMs)}, and markers are kept for ${durationText(markers)}: set retention.markers, or leave it out`,
    )
}
