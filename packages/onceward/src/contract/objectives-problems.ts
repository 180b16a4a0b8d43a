import { isRecord, type Report, unknownKeys, wholeNumber } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'
import { durationMs } from './duration.ts'

const durations = ['lagMax', 'applyP99Max', 'setAsideAgeMax', 'outboxAgeMax', 'idleMax'] as const
const shares = ['duplicateShareMax', 'parkingShareMax'] as const
const counts = ['lagRecordsMax', 'setAsideMax', 'claimsExpiredPerHourMax'] as const

/** Prometheus looks back by whole seconds, and nobody keeps its samples for longer. */
const leastMs = 1_000
const mostMs = 31 * 86_400_000

export function objectivesProblems({ objectives, producer }: ConsumerContract, wrong: Report): void {
  if (producer !== undefined && (typeof producer !== 'string' || producer.trim() === ''))
    wrong('producer', 'must name the team that sends these messages and is told of broken ones')
  if (objectives === undefined) return
  if (!isRecord(objectives)) return wrong('objectives', 'must be an object')
  unknownKeys(objectives, 'objectives', 'objectives.', wrong)
  for (const name of durations) {
    if (objectives[name] === undefined) continue
    const ms = durationMs(objectives[name])
    if (ms === null)
      wrong(`objectives.${name}`, "must be a number of milliseconds or a text such as '500ms', '90s' or '5m'")
    else if (ms < (name === 'applyP99Max' ? 1 : leastMs) || ms > mostMs)
      wrong(
        `objectives.${name}`,
        'must be from 1 s (applyP99Max: 1 ms) to 31 d, the times alerts can look back',
      )
  }
  for (const name of shares) {
    const share = objectives[name] as unknown
    if (share !== undefined && !(typeof share === 'number' && share > 0 && share <= 1))
      wrong(`objectives.${name}`, 'must be a share: more than 0, at most 1')
  }
  for (const name of counts) wholeNumber(objectives[name], `objectives.${name}`, 0, 1_000_000_000, wrong)
}
