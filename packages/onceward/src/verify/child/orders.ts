import type { CrashPoint } from '../../crash-points.ts'

/** The moment at which a fault happens inside a child. */
export type Trigger =
  | { readonly on: 'point'; readonly point: CrashPoint; readonly hit: number }
  /** After the answer to this statement of the handler, counted from 1 over all messages of the process. */
  | { readonly on: 'statement'; readonly number: number }

/** What a child process is to do. It does one thing, then it ends. */
export interface ChildOrders {
  /** `run`: until the parent ends it. `campaign`, `rebuild`: replays the file. `describe`: reads samples. */
  readonly task: 'run' | 'campaign' | 'rebuild' | 'describe'
  /** The consumer's module. */
  readonly file: string
  readonly policy: string | null
  readonly databaseUrl: string
  /** A file of JSON lines to read instead of the queue; for contracts that need a log. */
  readonly logFile: string | null
  /** One message per transaction, one after the other. */
  readonly serial: boolean
  /** The largest batch. Null: as the contract says. */
  readonly sizeMax: number | null
  /** The clock that handlers see, and the start of their random numbers. Null: the real ones. */
  readonly handlerEnvironment: HandlerEnvironment | null
  /** Connections of handlers are redirected here. */
  readonly stubPort: number
  /** Addresses (`host:port`) that handlers may reach. */
  readonly allowed: readonly string[]
  readonly trigger: Trigger | null
  /** `die`: SIGKILL. `stop`: SIGSTOP, until the parent continues it. */
  readonly action: 'die' | 'stop'
  readonly samples: readonly SampleOrder[]
}

/** The clock and random numbers inside handlers. */
export interface HandlerEnvironment {
  readonly nowMs: number
  readonly seed: number
}

/** A sample message as it travels between the processes. */
export interface SampleOrder {
  readonly line: number
  readonly base64: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: Readonly<Record<string, unknown>>
  readonly key: string | null
}

/** What a child saw. */
export interface ChildObservation {
  readonly points: Readonly<Record<string, number>>
  readonly statements: readonly string[]
  readonly leaks: readonly Leak[]
  readonly calls: number
}

export type LeakKind =
  | 'other connection'
  | 'outside read'
  | 'network'
  | 'file'
  | 'late statement'
  | 'not awaited'
  | 'swallowed error'
  | 'open transaction'
  | 'nothing done'

/** Something a handler did outside of its transaction. */
export interface Leak {
  readonly kind: LeakKind
  /** The statement, the address, the path or the message id. */
  readonly what: string
}

/** How the contract reads one sample. */
export interface Described {
  readonly line: number
  /** Why it cannot be read; null if it can. */
  readonly problem: string | null
  readonly id: string
  readonly orderKey: string | null
  /** False: its identities come from headers or properties, or its body has line breaks, so a file of
   * bodies cannot carry it. */
  readonly bodyAlone: boolean
  /** Other content under the same id, in base64; null if no field can change without changing the id. */
  readonly conflict: string | null
  /** The same operation under another message id; null without a business key. */
  readonly resent: string | null
  /** Identities that depend on something besides the message: `id depends on the clock`. */
  readonly unstable: readonly string[]
}

export interface ContractFacts {
  readonly name: string
  readonly order: 'none' | 'key' | 'partition'
  readonly needsLog: boolean
  readonly settle: string
  readonly dedup: string
  readonly stored: boolean
  readonly modes: readonly string[]
  readonly hasBusinessKey: boolean
  readonly hasExternal: boolean
  readonly declaredEffect: boolean
  readonly jsonSchema: unknown
  readonly described: readonly Described[]
}

export type ChildMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'running' }
  | { readonly kind: 'observed'; readonly observed: ChildObservation }
  | { readonly kind: 'facts'; readonly facts: ContractFacts }
  | { readonly kind: 'failed'; readonly error: string }
