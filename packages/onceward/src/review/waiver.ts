import { type Finding, findingsOf } from './rule.ts'
import { neverWaived, waiverRules } from './rules/itself.ts'

/** A finding that a team accepts, and until when. */
export interface Waiver {
  readonly rule: string
  /** Absent: of every consumer, and of the servers. */
  readonly consumer?: string | undefined
  readonly reason: string
  readonly owner: string
  /** The last day it holds, as in 2027-03-31, in UTC. */
  readonly until: string
  /** Where it is written, for people. */
  readonly place?: string | undefined
}

export interface WaivedFinding extends Finding {
  readonly waived: Waiver | null
}

/**
 * Marks waived findings. A waiver that has expired, matches nothing or names no rule is a finding itself;
 * otherwise the list only grows, and a forgotten line would hide the same fault later. Those findings cannot
 * be waived.
 */
export function applyWaivers(
  findings: readonly Finding[],
  waivers: readonly Waiver[],
  { today, knownIds, skipped }: WaiverContext,
): WaivedFinding[] {
  const running = waivers.filter(waiver => isDay(waiver.until) && waiver.until >= today)
  const waived = findings.map(finding => ({
    ...finding,
    waived: running.find(waiver => matches(waiver, finding)) ?? null,
  }))
  const about = waivers.flatMap(waiver => {
    const place = { consumer: waiver.consumer ?? null, place: waiver.place ?? 'waivers' }
    const named = `${waiver.rule}${waiver.consumer === undefined ? '' : ` of ${waiver.consumer}`}`
    if (!knownIds.has(waiver.rule))
      return findingsOf(waiverRules.unknown, `There is no rule ${waiver.rule}.`, place)
    if (neverWaived.has(waiver.rule))
      return findingsOf(waiverRules.unknown, `Rule ${waiver.rule} cannot be waived.`, place)
    if (!isDay(waiver.until))
      return findingsOf(
        waiverRules.over,
        `The waiver of ${named} has no readable end: ${waiver.until}.`,
        place,
      )
    if (waiver.until < today)
      return findingsOf(
        waiverRules.over,
        `The waiver of ${named} ended on ${waiver.until}; ${waiver.owner} answers for it.`,
        place,
      )
    if (skipped(waiver.rule) || findings.some(finding => matches(waiver, finding))) return []
    return findingsOf(waiverRules.unused, `The waiver of ${named} matches no finding.`, place)
  })
  return [...waived, ...about.map(finding => ({ ...finding, waived: null }))]
}

export interface WaiverContext {
  /** As in 2026-11-15, in UTC. */
  readonly today: string
  readonly knownIds: ReadonlySet<string>
  /** Rules that this check skipped: their waivers are not unused. */
  readonly skipped: (rule: string) => boolean
}

function matches(waiver: Waiver, finding: Finding): boolean {
  return (
    !neverWaived.has(finding.id) &&
    waiver.rule === finding.id &&
    (waiver.consumer === undefined || waiver.consumer === finding.consumer)
  )
}

function isDay(text: string): boolean {
  return typeof text === 'string' && /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/.test(text)
}
