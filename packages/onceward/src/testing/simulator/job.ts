/** What the handler of the workload does with a message. */
export type JobPlan =
  | 'apply'
  /** Also locks a row that others lock. */
  | 'touch'
  /** Also asks for an external effect. */
  | 'external'
  /** Asks for an external effect under a key that others use for other bytes. */
  | 'clash'
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
  /** Breaks a constraint that is checked at COMMIT, where nobody is named. */
  | 'refused late'
  /** Returns before its statement is answered. */
  | 'careless'
  /** Sends a statement that ends the connection, every time. */
  | 'fatal'
  | 'ignore'
  | 'park'
  | 'reject'

/** The message of the workload. */
export interface SimulatedJob {
  readonly id: string
  readonly key: string
  readonly business: string | null
  readonly plan: JobPlan
  readonly times: number
  /** Tells copies of one id with other bytes apart. */
  readonly version: string
}

/** How a message of each plan ends when nothing else is in its way. */
export const endOf: Record<JobPlan, 'applied' | 'parked' | 'ignored' | 'dead'> = {
  apply: 'applied',
  touch: 'applied',
  external: 'applied',
  clash: 'applied',
  'fail early': 'applied',
  'fail late': 'applied',
  again: 'applied',
  hang: 'applied',
  poison: 'parked',
  refused: 'parked',
  swallow: 'parked',
  'refused late': 'parked',
  careless: 'parked',
  fatal: 'parked',
  ignore: 'ignored',
  park: 'parked',
  reject: 'dead',
}
