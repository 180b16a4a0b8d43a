/** What the handler of the workload does with a message. */
export type Plan =
  | 'apply'
  /** Also locks a row that others lock. */
  | 'touch'
  /** Also asks for an external effect. */
  | 'external'
  /** Throws, before or after its first statement, as often as `times` says; then applies. */
  | 'fail early'
  | 'fail late'
  /** Asks to be called again, as often as `times` says; then applies. */
  | 'again'
  /** Does not return, once. */
  | 'hang'
  | 'poison'
  /** Sends a statement that breaks a constraint, and lets the error through or hides it. */
  | 'refused'
  | 'swallow'
  | 'ignore'
  | 'park'
  | 'reject'

/** The message of the workload. */
export interface Job {
  readonly id: string
  readonly key: string
  readonly business: string | null
  readonly plan: Plan
  readonly times: number
  /** Tells copies of one id with other bytes apart. */
  readonly version: string
}

/** How a message of each plan may end when nothing else is in its way. */
export const endOf: Record<Plan, 'applied' | 'parked' | 'ignored' | 'dead'> = {
  apply: 'applied',
  touch: 'applied',
  external: 'applied',
  'fail early': 'applied',
  'fail late': 'applied',
  again: 'applied',
  hang: 'applied',
  poison: 'parked',
  refused: 'parked',
  swallow: 'parked',
  ignore: 'ignored',
  park: 'parked',
  reject: 'dead',
}
