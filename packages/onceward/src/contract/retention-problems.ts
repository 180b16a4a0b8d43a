import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'
import { durationMs, durationText } from './duration.ts'
import { contractOptions } from './options/table.ts'
import { type Retention, resolveRetention } from './retention.ts'
import type { RetentionSection } from './upkeep-sections.ts'

/**
 * A lookup of a duplicate checks every day's table: 0.6 ms with 35 days, 2 ms with 104, 50 ms with 400. Each
 * table is also a lock of the transaction.
 */
const daysMaxMs = 100 * 86_400_000

/** If one of these expires before the marker, a duplicate is only half recognised. */
const notShorter = ['businessKeys', 'effects', 'attempts'] as const

export function retentionProblems(contract: ConsumerContract, wrong: Report): void {
  const { retention } = contract
  if (!isRecord(retention) || typeof contract.risk !== 'string') return
  if (isUnreadable(retention)) return
  const kept = resolveRetention(retention, contract.risk, contract.effect)
  for (const name of notShorter) {
    if (kept[name] < kept.markers)
      wrong(
        `retention.${name}`,
        `is ${durationText(kept[name])}, shorter than markers (${durationText(kept.markers)}): a duplicate would be only half recognised`,
      )
  }
  if (retention.partitions !== undefined) partitionProblems(contract, kept, wrong)
  tenantProblems(contract, wrong)
  if (contract.dedup !== undefined && contract.dedup !== 'marker' && retention.markers !== undefined)
    wrong('retention.markers', `has no effect with dedup '${contract.dedup}', which writes no markers`)
}

/** The tenant is read from the id of a row. */
function tenantProblems({ retention, identity, dedup }: ConsumerContract, wrong: Report): void {
  const { tenants, tenantSeparator, partitions } = retention!
  if (tenants !== undefined && tenantSeparator === undefined)
    wrong('retention.tenants', 'needs retention.tenantSeparator: without it no id names a tenant')
  for (const name of Object.keys(tenants ?? {}))
    if (tenantSeparator !== undefined && name.includes(tenantSeparator))
      wrong(`retention.tenants.${name}`, 'contains the separator, so no id can name it')
  if (tenantSeparator === undefined) return
  const place = 'retention.tenantSeparator'
  if (partitions !== undefined || identity?.idTime !== undefined)
    wrong(place, 'cannot be combined with identity.idTime: such an id does not begin with a tenant')
  if (identity?.id === 'position') wrong(place, "cannot be combined with identity.id 'position'")
  if (dedup !== undefined && dedup !== 'marker')
    wrong(place, `has no effect with dedup '${dedup}', which writes no markers`)
}

/** Terms are compared only if all of them are readable. */
function isUnreadable(retention: RetentionSection): boolean {
  return contractOptions.below('retention').some(({ name, option: { kind } }) => {
    const term = retention[name as keyof RetentionSection]
    return kind.inFile?.kind === 'duration' && term !== undefined && durationMs(term) === null
  })
}

/** A day can be dropped only as a whole, and only if the id determines the day. */
function partitionProblems(
  { identity, dedup }: ConsumerContract,
  { action, markers }: Retention,
  wrong: Report,
): void {
  const place = 'retention.partitions'
  if (identity?.idTime === undefined)
    wrong(place, "needs ids that contain their day: set identity.idTime to 'uuidv7' or 'ulid', or remove it")
  if (dedup !== undefined && dedup !== 'marker')
    wrong(place, `has no effect with dedup '${dedup}', which writes no markers: remove it`)
  if (action === 'archive')
    wrong(place, "drops whole days, which cannot be archived: set retention.action to 'delete', or remove it")
  if (markers > daysMaxMs)
    wrong(
      place,
      `supports up to ${durationText(daysMaxMs)}, and markers are kept for ${durationText(markers)}: set retention.markers, or remove it`,
    )
}
