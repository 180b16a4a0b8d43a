import type { CampaignMode } from './handler.ts'

/** Milliseconds, or a text such as '90s', '36h', '30d', '7y' (a year has 365 days). */
export type Duration = number | string

/**
 * How long each kind of memory is kept; what a contract does not say is decided by its risk. A term shorter
 * than the longest time in which a duplicate can reappear is refused at start.
 */
export interface RetentionSection {
  /** Markers: how long a repeated message is recognised. */
  markers?: Duration
  /** Business keys. Default and least: as long as markers. */
  businessKeys?: Duration
  /**
   * Completed external effects, which keep a call from being made again. Default and least: as long as
   * markers.
   */
  effects?: Duration
  /** What was said of messages that were not simply applied. Default: as long as markers. */
  notes?: Duration
  /** Failed attempts, by the last of a message. Default and least: as long as markers. */
  attempts?: Duration
  /**
   * Dead letters and quarantined messages with their bytes, counted from when they were last seen. Default:
   * never removed.
   */
  deadLetters?: Duration
  /** What campaigns that are over would have asked for. Default: as long as markers. */
  suppressedEffects?: Duration
  /**
   * What people did to held messages that are held no more; the audit keeps it for good. Default: as long as
   * markers.
   */
  heldActions?: Duration
  /**
   * Longest time after which the source may hand a message over again, where it cannot be asked or says that
   * it keeps for ever.
   */
  sourceKeeps?: Duration
  /**
   * Default `delete`. `archive` writes each row to a file, durably, before it is removed; the process is told
   * the folder.
   */
  action?: 'delete' | 'archive'
  /**
   * What happens to a message older than the markers that are left. `park`: a person decides; the default
   * where risk is money, regulatory or notification. `apply`: applied and reported.
   */
  behindHorizon?: 'park' | 'apply'
  /**
   * `daily`: markers lie in a table for each day of their ids, which is dropped when all of it may be
   * forgotten. For ids that are UUIDv7 or ULID (`identity.idTime`); an owner of the schema runs
   * `onceward retention partition` once. Default: one table, emptied row by row.
   */
  partitions?: 'daily'
}

/** Every number has a default, most of them by `risk`: see `docs/alerts.md`. */
export interface ObjectivesSection {
  /**
   * How old what is not applied yet may be. Default 1m for money, regulatory and notification, 5m projection,
   * 15m telemetry, 1h low value.
   */
  lagMax?: Duration
  /** How many records may wait at the broker while their number still grows. Default 10,000. */
  lagRecordsMax?: number
  /** 99 of 100 batches are applied within it. Default half of `batch.handlerTimeoutMs`. */
  applyP99Max?: Duration
  /** Share of deliveries that may be repeats. Default 0.1. */
  duplicateShareMax?: number
  /**
   * Dead letters, parked and quarantined messages that may wait for a person, of one reason. Default 0 for
   * money, regulatory and notification, else 10.
   */
  setAsideMax?: number
  /** How long any of them may wait, however few they are. Default 24h. */
  setAsideAgeMax?: Duration
  /** Work taken from silent workers in an hour. Default 5. */
  leasesExpiredPerHourMax?: number
  /** Age of the oldest message in the outbox. Default as `lagMax`. */
  outboxAgeMax?: Duration
  /** Share of `failure.parking.totalMax` from which parking is nearly full. Default 0.8. */
  parkingShareMax?: number
  /**
   * The source is never silent for longer. Default: not silent for an hour in which it was not the day
   * before.
   */
  idleMax?: Duration
}

/** Queries are one SELECT each, run read-only. See `docs/explain.md`. */
export interface ReconcileSection {
  /**
   * Every row the handler wrote: `message_id` (text), and where there are such columns `at` (timestamptz), by
   * which rows older than the markers that are left are told apart, and `digest` (bytea), compared with the
   * marker's.
   */
  effects: string
  /**
   * Default `all`: every applied message has a row. `some`: it may have none, because later messages
   * overwrite it or the handler needs none.
   */
  covers?: 'all' | 'some'
  /** Default `any`. `one`: a second row of a message is drift. */
  perMessage?: 'one' | 'any'
  /** `message_id` of rows that are not what was written, by whatever the table keeps to tell. */
  edited?: string
}

export interface ReplaySection {
  /** What people may start. Default `replay`, `repair` and `forensic`. */
  modes?: readonly CampaignMode[]
  /**
   * How far back history may be asked for, and so how long it is remembered at least. Default no limit of its
   * own.
   */
  window?: Duration
  /**
   * Default `with approval`: people may approve that a backfill or a repair calls and publishes. `never`:
   * nobody may.
   */
  effects?: 'with approval' | 'never'
  /**
   * `rebuild` of a handler: the tables it writes, named without a schema in its statements as well. Declared
   * projections know theirs.
   */
  tables?: readonly string[]
  /**
   * `rebuild`: what is compared before a swap, by table. Default all columns, told apart by the primary key.
   */
  compare?: Readonly<Record<string, ComparedTable>>
}

export interface ComparedTable {
  /** Columns that tell rows apart. Default the primary key. */
  key?: readonly string[]
  /** Columns that must be the same. Default all but the key and those the database fills by itself. */
  columns?: readonly string[]
  /**
   * Columns the database fills by itself (identity, a sequence, a UUID, the time) to which nothing else
   * refers: a swap may put rows with other values in their place. Default none, and a swap that would change
   * such a value is refused.
   */
  mayChange?: readonly string[]
}
