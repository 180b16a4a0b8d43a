import type { Consumer } from 'onceward'
import { type AttentionReason, attentionReason } from 'onceward/operations'
import { counted } from './attention.ts'
import type { Flow } from './flow.ts'
import type { Overview } from './screens.ts'

/** Name of an alert whose condition holds, and why. */
export interface Condition {
  readonly alert: string
  readonly summary: string
}

/** The alert of each reason, as in the rules for Prometheus; `any`: one message is enough. */
const ofReason: Readonly<
  Record<AttentionReason, { readonly alert: string; readonly any: boolean; readonly what: string }>
> = {
  unreadable: { alert: 'OncewardUnreadable', any: true, what: 'that cannot be read' },
  conflict: { alert: 'OncewardConflict', any: true, what: 'with a known id and different content' },
  poison: { alert: 'OncewardPoison', any: true, what: 'that cannot succeed' },
  corrupt: { alert: 'OncewardCorruption', any: true, what: 'quarantined as corrupt' },
  exhausted: { alert: 'OncewardRetriesExhausted', any: false, what: 'that failed at the last attempt' },
  quarantined: { alert: 'OncewardQuarantined', any: false, what: 'in quarantine' },
  'set aside': { alert: 'OncewardDeadLetters', any: false, what: 'set aside' },
}
/** Reasons whose few messages may wait, but not for long. */
const mayWait: readonly AttentionReason[] = ['set aside', 'exhausted', 'quarantined']

export function ofMessages(
  name: string,
  { groups }: Overview,
  { objectives }: Flow,
  contract: Consumer<never, never> | undefined,
): Condition[] {
  const own = groups.filter(({ consumer }) => consumer === name)
  const waiting = countReasons(own, contract)
  const allowed = objectives.find(one => one.name === 'setAsideMax')?.limit ?? 0
  const burnt = (objective: string) => objectives.some(one => one.name === objective && one.burnt)
  const found = [...waiting].flatMap(([reason, count]) => {
    const { alert, any, what } = ofReason[reason]
    return count > (any ? 0 : allowed) ? [{ alert, summary: `${counted(count, 'message')} ${what}` }] : []
  })
  const few = mayWait.some(reason => {
    const count = waiting.get(reason) ?? 0
    return count > 0 && count <= allowed
  })
  if (few && burnt('setAsideAgeMax'))
    found.push({ alert: 'OncewardSetAsideTooLong', summary: 'messages wait too long for a person' })
  if (burnt('parkingShareMax'))
    found.push({ alert: 'OncewardParkingNearCap', summary: 'the limit of parked messages is near' })
  if (burnt('lagMax'))
    found.push({ alert: 'OncewardOldestPending', summary: 'the oldest message waits too long' })
  return found
}

/** How many wait for each reason. Without the contract no class counts as retried. */
function countReasons(
  groups: Overview['groups'],
  contract: Consumer<never, never> | undefined,
): ReadonlyMap<AttentionReason, number> {
  const rules = contract?.failure.rules ?? ({} as Consumer['failure']['rules'])
  const counts = new Map<AttentionReason, number>()
  for (const { state, failureClass, code, count } of groups) {
    const reason = attentionReason({ state, class: failureClass, code }, { rules })
    if (reason !== null) counts.set(reason, (counts.get(reason) ?? 0) + count)
  }
  return counts
}
