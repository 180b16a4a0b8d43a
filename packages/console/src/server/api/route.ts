import type { Consumer } from 'onceward'
import type { ActingPool, SqlPool } from 'onceward/operations'
import type { z } from 'zod'
import type { Session } from '../auth/sessions.ts'
import type { Problem } from '../http/problem.ts'
import type { Headline } from '../options.ts'
import type { Reach } from '../rights/reach.ts'
import type { Role } from '../rights/rights.ts'
import type { Campaigns } from './campaigns.ts'
import type { Screens } from './screens.ts'
import type { Selections } from './selections.ts'

/** What the handler of a route works with. */
export interface Call {
  readonly session: Session
  /** Reads. */
  readonly pool: SqlPool
  /** The person as the audit records them. */
  readonly actor: string
  /** The act of this request, as the signed-in person and under the key of the request. */
  readonly acts: ActingPool
  /** What the person began and this process continues. */
  readonly later: SqlPool
  /** Made by the page, once for each confirmation. */
  readonly key: string | undefined
  readonly campaigns: Campaigns
  readonly database: string
  readonly screens: Screens
  readonly selections: Selections
  readonly contracts: ReadonlyMap<string, Consumer<never, never>>
  /** Undefined: every value of a masked payload is hidden. */
  maskedMembers(consumer: string): readonly string[] | undefined
  /** Whether a person with this reach sees the order keys and business keys of a consumer. */
  showsKeys(reach: Reach, consumer: string): boolean
  readonly signal: AbortSignal
  /** Undefined unless the program that serves the console shows one. */
  readonly headline: (() => Headline | null) | undefined
  /** What the person may do with each consumer. */
  reach(): Promise<Reach>
  /** Names of the consumers in scope; undefined for all. */
  visible(): Promise<readonly string[] | undefined>
  /**
   * Refuses a consumer outside the scope as if it did not exist, with `missing` if an id led to it; then one
   * on which the person does not have the role of the route.
   */
  assertAllowed(consumer: string, missing?: Problem): Promise<void>
  /** The same for what concerns no consumer: rights with a scope do not count. */
  assertUnscoped(): Promise<void>
}

export interface Route {
  readonly method: 'get' | 'post' | 'delete'
  /** Below `/api`, with parameters as `{id}`. */
  readonly path: string
  readonly summary: string
  /** The role that the route needs; null: no sign-in. */
  readonly role: Role | null
  /** Name of the act in the audit, if the route changes something. */
  readonly act?: string
  /** A page may watch its answer by `GET /live`. */
  readonly isLive?: true
  readonly query?: z.ZodObject
  readonly body?: z.ZodObject
  readonly answer: z.ZodType
  handle(call: Call, input: Input): Promise<unknown>
}

export interface Input {
  readonly params: Readonly<Record<string, string>>
  // biome-ignore lint/suspicious/noExplicitAny: shaped by the schema of the route
  readonly query: any
  // biome-ignore lint/suspicious/noExplicitAny: shaped by the schema of the route
  readonly body: any
}

/** An answer that is not JSON. */
export class FileAnswer {
  readonly name: string
  readonly type: string
  readonly content: string | Uint8Array<ArrayBuffer>

  readonly headers: Readonly<Record<string, string>>

  constructor(
    name: string,
    type: string,
    content: string | Uint8Array<ArrayBuffer>,
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.name = name
    this.type = type
    this.content = content
    this.headers = headers
  }
}
