import type { Consumer } from '../contract/define-consumer.ts'

/**
 * `error`: messages or effects can be lost or doubled, or the consumer will not start. `warning`: it works
 * until something else happens.
 */
export type Severity = 'error' | 'warning' | 'note'

/** The text of a rule. Ids are stable: waivers refer to them. */
export interface RuleText {
  readonly id: string
  readonly severity: Severity
  /** What must hold. */
  readonly title: string
  /** What happens if it does not. */
  readonly reason: string
  readonly fix: string
}

/**
 * The finding as a sentence with its names and numbers; several if found several times; null if there is
 * none.
 */
export type RuleResult = string | readonly string[] | null

/** A rule over one subject: a contract, or the facts of a server. Pure, so that each is tested alone. */
export interface Rule<Subject> extends RuleText {
  readonly judge: (subject: Subject) => RuleResult
}

/** A rule over all contracts of a check. */
export interface SetRule extends RuleText {
  readonly judge: (consumers: readonly Consumer[]) => readonly { consumer: string; found: string }[]
}

export interface Finding extends RuleText {
  /** Null for a finding about a server or the check itself. */
  readonly consumer: string | null
  /** The file of the contract, or the server's address without its secrets. */
  readonly place: string
  readonly found: string
  readonly link: string
}

function linkOf({ id }: Pick<RuleText, 'id'>): string {
  return `docs/checks.md#${id.toLowerCase()}`
}

/** One finding per thing found. */
export function findingsOf(
  rule: RuleText,
  found: RuleResult,
  { consumer, place }: Pick<Finding, 'consumer' | 'place'>,
): Finding[] {
  const texts = found === null ? [] : typeof found === 'string' ? [found] : found
  const { id, severity, title, reason, fix } = rule
  return texts.map(text => ({
    id,
    severity,
    title,
    reason,
    fix,
    consumer,
    place,
    found: text,
    link: linkOf(rule),
  }))
}
