/** The top key of the usual template of delivery policies. */
export const templateKey = 'deliverySemantics'

/** A value of ours: the path of its key, and the value. */
export type OwnValue = readonly [path: string, value: unknown]

/** Null for a value that the template does not have. */
type Translate = (value: unknown) => readonly OwnValue[] | null

const words =
  (path: string, by: Readonly<Record<string, unknown>>): Translate =>
  value =>
    typeof value === 'string' && Object.hasOwn(by, value) ? [[path, by[value]]] : null
const as =
  (path: string): Translate =>
  value => [[path, value]]
const inUnit =
  (path: string, unit: string): Translate =>
  value =>
    typeof value === 'number' ? [[path, `${value}${unit}`]] : null
const flag =
  (values: readonly OwnValue[], otherwise: readonly OwnValue[]): Translate =>
  value =>
    typeof value === 'boolean' ? (value ? values : otherwise) : null

/** Where the effect is not a version-guarded row, a strategy names the id that stands for the operation. */
const strategy: Translate = value => {
  if (value === 'aggregate-version-upsert') return [['dedup', 'version']]
  if (value === 'message-id' || value === 'event-id') return [['dedup', 'marker']]
  return typeof value === 'string' && /^[a-z][a-z0-9-]*-id$/.test(value)
    ? [['identity.businessKey.header', value]]
    : null
}

/** The keys of a topic in the usual template of delivery policies. */
export const topicKeys: Readonly<Record<string, Translate>> = {
  defaultGuarantee: words('settle.when', {
    'at-least-once': 'after effect',
    'effectively-once': 'after effect',
    'at-most-once': 'before effect',
  }),
  key: as('identity.orderKey.header'),
  ordering: words('order', { 'per-key': 'key', 'per-partition': 'partition', none: 'none' }),
  retention: as('retention.sourceKeeps'),
  replayAllowed: flag([], [['replay.modes', []]]),
}

/** The keys of a consumer there, by section. */
export const consumerKeys: Readonly<Record<string, Readonly<Record<string, Translate>>>> = {
  idempotency: {
    strategy,
    duplicateHandling: words('duplicates', { skip: 'skip' }),
    // Targets are called with a key unless the contract says otherwise.
    externalProviderIdempotency: value => (value === true ? [] : null),
  },
  offsetCommit: {
    timing: words('settle.when', {
      'after-db-transaction': 'after effect',
      'with-db-transaction': 'with effect',
      'before-processing': 'before effect',
    }),
  },
  retry: {
    maxAttempts: as('failure.retry.maxAttempts'),
    initialDelayMs: inUnit('failure.retry.initialDelay', 'ms'),
    maxDelayMs: inUnit('failure.retry.maxDelay', 'ms'),
    jitter: flag(
      [['failure.retry.backoff', 'exponential-jitter']],
      [['failure.retry.backoff', 'exponential']],
    ),
    backoff: as('failure.retry.backoff'),
    retryable: as('failure.retry.retryable'),
    nonRetryable: as('failure.retry.nonRetryable'),
  },
  dlq: {
    // Dead letters are always kept; a topic gets copies of them.
    enabled: value => (value === true ? [] : null),
    topic: as('failure.deadLetter.to'),
    owner: as('failure.deadLetter.owner'),
    manualReviewRequired: as('failure.deadLetter.manualReviewRequired'),
  },
  poison: { maxAttemptsBeforePark: as('failure.poison.maxAttemptsBeforePark') },
  lagSlo: { maxLagSeconds: inUnit('objectives.lagMax', 's') },
  replay: {
    allowed: value => {
      if (value === 'false-for-side-effect') return [['replay.effects', 'never']]
      return value === true ? [] : value === false ? [['replay.modes', []]] : null
    },
  },
}
