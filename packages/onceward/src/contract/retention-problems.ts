import { isRecord, oneOf, type Report, unknownKeys } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'
import { durationMs, durationText } from './duration.ts'
import { retentionTerms } from './known-names.ts'
import { resolveRetention } from './retention.ts'

/** Forgetting one of these earlier than the marker lets half of a duplicate through. */
const notShorter = ['businessKeys', 'effects', 'attempts'] as const

export function retentionProblems(contract: ConsumerContract, wrong: Report): void {
  const { retention } = contract
  if (retention === undefined) return
  if (!isRecord(retention)) return wrong('retention', 'must be an object')
  unknownKeys(retention, 'retention', 'retention.', wrong)
  if (retention.action !== undefined)
    oneOf(retention.action, ['delete', 'archive'], 'retention.action', wrong)
  if (retention.behindHorizon !== undefined)
    oneOf(retention.behindHorizon, ['park', 'apply'], 'retention.behindHorizon', wrong)
  const unreadable = retentionTerms.filter(name => {
    const value = retention[name]
    if (value === undefined || durationMs(value) !== null) return false
    wrong(`retention.${name}`, "must be a number of milliseconds or a text such as '36h', '30d' or '7y'")
    return true
  })
  if (unreadable.length > 0 || typeof contract.risk !== 'string') return
  const kept = resolveRetention(retention, contract.risk)
  for (const name of notShorter) {
    if (kept[name] < kept.markers)
      wrong(
        `retention.${name}`,
        `is ${durationText(kept[name])}, shorter than markers (${durationText(kept.markers)}): a repeat would then be half recognised`,
      )
  }
  if (contract.dedup !== undefined && contract.dedup !== 'marker' && retention.markers !== undefined)
    wrong('retention.markers', `means nothing with dedup '${contract.dedup}', which writes none`)
}
