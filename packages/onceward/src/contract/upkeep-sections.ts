import type { CampaignMode } from './handler.ts'

/** Milliseconds, or a text such as '90s', '36h', '30d', '7y' (a year has 365 days). */
export type Duration = number | string

/**
 * How long each kind of record is kept. Defaults depend on the contract's risk. A start is refused if markers
 * are kept for less than the longest time after which a duplicate can arrive.
 */
export interface RetentionSection {
  /** Markers: how long a duplicate is recognised. */
  markers?: Duration
  /** Business keys. Default and minimum: as long as markers. */
  businessKeys?: Duration
  /**
   * Completed external effects. They prevent a second call. Default and minimum: as long as markers.
   */
  effects?: Duration
  /** The recorded reasons of messages that were not simply applied. Default: as long as markers. */
  notes?: Duration
  /** Failed attempts, counted from a message's last one. Default and minimum: as long as markers. */
  attempts?: Duration
  /**
   * Dead letters and quarantined messages with their bytes, counted from the last delivery. Default: never
   * removed.
   */
  deadLetters?: Duration
  /**
   * Receipts (`evidence.receipts`), removed by whole days of arrival. Default: as long as markers.
   */
  receipts?: Duration
  /** Effects that finished campaigns suppressed. Default: as long as markers. */
  suppressedEffects?: Duration
  /**
   * Operators' actions on messages that are no longer held. The audit log keeps them permanently. Default: as
   * long as markers.
   */
  heldActions?: Duration
  /**
   * The longest time after which the source may redeliver a message. Required where the source cannot report
   * it or keeps messages without limit.
   */
  sourceKeeps?: Duration
  /**
   * Default `delete`. `archive` writes each row durably to a file before it is removed; the process
   * configuration names the folder.
   */
  action?: 'delete' | 'archive'
  /**
   * What happens to a message older than the remaining markers. Default `park`: an operator decides. `apply`:
   * it is applied, counted and reported; the default for a projection, whose versions recognise a repeat,
   * unless its risk is money, regulatory or notification.
   */
  behindHorizon?: 'park' | 'apply'
  /**
   * `daily`: markers are stored in one table per day of their ids. A table is dropped when all of its markers
   * have expired. It needs ids that are UUIDv7 or ULID (`identity.idTime`), and an owner of the schema runs
   * `onceward retention partition` once. Default: one table, from which expired rows are deleted.
   */
  partitions?: 'daily'
  /**
   * One character. A message id begins with its tenant and this character, as in `acme/4711`. Then each
   * tenant can have a term of its own, and `onceward retention drop-tenant` removes all rows of one.
   */
  tenantSeparator?: string
  /**
   * Terms of tenants, by name: each replaces the terms of markers, business keys, effects, notes, attempts,
   * dead letters and suppressed effects. Receipts and operators' actions have no terms by tenant.
   */
  tenants?: Readonly<Record<string, Duration>>
}

/** What is kept about each message beside its marker. */
export interface EvidenceSection {
  /**
   * A receipt for each message: type, schema version, producer, correlation, causation, event id, aggregate,
   * position, arrival and event time, mode and campaign. Default: true for risk money and regulatory.
   */
  receipts?: boolean
  /** Default `facts`. `payload`: the receipt has the bytes of the message too. */
  keep?: 'facts' | 'payload'
}

/** Every number has a default; most depend on `risk`. See `docs/alerts.md`. */
export interface ObjectivesSection {
  /**
   * Greatest age of a message that is not applied yet. Default 1m for money, regulatory and notification, 5m
   * projection, 15m telemetry, 1h low value.
   */
  lagMax?: Duration
  /**
   * How many records may wait at the broker while their number is growing. Default 1,000 for money,
   * regulatory and notification, 10,000 projection, 100,000 telemetry and low value.
   */
  lagRecordsMax?: number
  /** The 99th percentile of the time of a handler call. Default: half of `batch.handlerTimeoutMs`. */
  applyP99Max?: Duration
  /** Share of deliveries that may be duplicates. Default 0.1. */
  duplicateShareMax?: number
  /**
   * Dead-lettered, parked and quarantined messages of one reason that may await an operator. Default 0 for
   * money, regulatory and notification, else 10.
   */
  setAsideMax?: number
  /** How long any such message may wait, even if there are few. Default 24h. */
  setAsideAgeMax?: Duration
  /** Expired leases per hour, each taken over from a silent worker. Default 5. */
  leasesExpiredPerHourMax?: number
  /** Age of the oldest message in the outbox. Default: `lagMax`. */
  outboxAgeMax?: Duration
  /** Share of `failure.parking.totalMax` at which an alert fires. Default 0.8. */
  parkingShareMax?: number
  /**
   * The longest time without a message. Default: an alert fires for an hour of silence in which messages
   * arrived the day before.
   */
  idleMax?: Duration
}

/** Each query is one SELECT, run read-only. See `docs/explain.md`. */
export interface ReconcileSection {
  /**
   * Returns every row the handler wrote: `message_id` (text), and two optional columns. `at` (timestamptz)
   * excludes rows older than the remaining markers. `digest` (bytea) is compared with the marker's digest.
   */
  effects: string
  /**
   * Default `all`: every applied message has a row. `some`: a message may have none, because later messages
   * overwrite its row or because the handler wrote nothing.
   */
  covers?: 'all' | 'some'
  /** Default `any`. `one`: a second row for the same message is drift. */
  perMessage?: 'one' | 'any'
  /** Returns the `message_id` of rows changed after they were written, judged by what the table records. */
  edited?: string
}

/** Which campaigns may read history again. See `docs/replay.md`. */
export interface ReplaySection {
  /** The campaign modes operators may start. Default `replay`, `repair` and `forensic`. */
  modes?: readonly CampaignMode[]
  /**
   * How far back a campaign may read. Markers must be kept at least as long. Default: no limit.
   */
  window?: Duration
  /**
   * Default `with approval`: a backfill or a repair may call and publish after an operator approves it.
   * `never`: no approval is possible.
   */
  effects?: 'with approval' | 'never'
  /**
   * For `rebuild` with a handler: the tables it writes. The handler's statements must also name them without
   * a schema. Declared projections list their own tables.
   */
  tables?: readonly string[]
  /**
   * For `rebuild`: the comparison before a swap, per table. Default: all columns, with rows matched by
   * primary key.
   */
  compare?: Readonly<Record<string, ComparedTable>>
}

/** How the tables of a rebuild are compared before a swap. */
export interface ComparedTable {
  /** Columns that identify a row. Default: the primary key. */
  key?: readonly string[]
  /** Columns that must be equal. Default: all but the key and those the database generates. */
  columns?: readonly string[]
  /**
   * Generated columns (identity, a sequence, a UUID, the time) that nothing else references. A swap may
   * change their values. Default none: a swap that would change a generated value is refused.
   */
  mayChange?: readonly string[]
}
