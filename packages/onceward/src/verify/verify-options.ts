import type { OwnPool } from '../drivers/postgres/pool.ts'
import type { FaultClass } from './fault.ts'
import type { Invariant } from './invariants.ts'

/** What `verifyConsumer` runs, where, and for how long. */
export interface VerifyOptions {
  /** The module whose default export is the consumer; an optional export `store` is used too. */
  readonly file: string
  /** The policy file. Default `ONCEWARD_POLICY`, else `onceward.yaml` beside the consumer. */
  readonly policy?: string | undefined
  /**
   * A PostgreSQL server for scratch databases; never the database itself. Default
   * `ONCEWARD_VERIFY_DATABASE_URL`, else an embedded server.
   */
  readonly databaseUrl?: string | undefined
  /** A file of SQL with the tables of the user, such as a dump without data. */
  readonly schema?: string | undefined
  /** A shell command that creates them; it gets the address as `ONCEWARD_DATABASE_URL` and `DATABASE_URL`. */
  readonly migrate?: string | undefined
  /** Rows and tables that the samples need, created once. */
  readonly prepare?: ((pool: Pick<OwnPool, 'query'>) => Promise<void>) | undefined
  /** A file of JSON lines, or bodies. Default: generated from the schema of the contract. */
  readonly samples?: string | readonly unknown[] | undefined
  /** Instead of samples: a database from which messages held for the consumer are read. */
  readonly capturedFrom?: string | undefined
  /** Rules that must hold after every run: each returns the rows that break it. */
  readonly invariants?: Readonly<Record<string, Invariant>> | undefined
  /** A module whose exported functions are invariants too. */
  readonly invariantsFile?: string | undefined
  /** Default 2 minutes. Faults that do not fit are reported as not run. */
  readonly budgetMs?: number | undefined
  /** Decides the order of faults and permutations. Default 1. */
  readonly seed?: number | undefined
  /** Only these classes; `leak` alone watches without faults. Default all that apply to the contract. */
  readonly only?: readonly (FaultClass | 'leak')[] | undefined
  readonly skip?: readonly FaultClass[] | undefined
  /** One fault by name, as a report gives it. */
  readonly fault?: string | undefined
  /** Only these lines of the samples. */
  readonly lines?: readonly number[] | undefined
  /** Default true: a failure is repeated with fewer messages, as long as the budget allows. */
  readonly shrink?: boolean | undefined
  /** Runs at a time. Default 2. */
  readonly jobs?: number | undefined
  /** `host:port` of servers that the handler may reach directly. */
  readonly allow?: readonly string[] | undefined
  /** Ends the verification with an error; scratch databases are dropped. */
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: VerifyProgress) => void) | undefined
}

/** What `verifyConsumer` does at present. */
export interface VerifyProgress {
  readonly done: number
  readonly of: number
  readonly failed: number
  readonly secondsLeft: number
}
