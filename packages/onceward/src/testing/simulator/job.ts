/** What the handler of the workload does with a message. */
export type JobPlan =
  | 'apply'
  /** Also locks a row that others lock. */
  | 'touch'
  /** Also requests an external effect. */
  | 'external'
  /** Requests an external effect under a key that other messages use for other bytes. */
  | 'clash'
  /** Throws, before or after its first statement, as often as `times` says; then applies. */
  | 'fail early'
  | 'fail late'
  /** Requests a retry, as often as `times` says; then applies. */
  | 'again'
  /** Does not return, once. */
  | 'hang'
  | 'poison'
  /** Sends a statement that violates a constraint, and rethrows the error or hides it. */
  | 'refused'
  | 'swallow'
  /** Violates a constraint that is checked at COMMIT, where no message is named. */
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
  /** Distinguishes copies of one id with other bytes. */
  readonly version: string
}

/** The outcome of a message of each plan when nothing else interferes. */
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
