import type { Consumer } from 'onceward'
import type { SqlPool } from 'onceward/operations'
import type { z } from 'zod'
import type { Session } from '../auth/sessions.ts'
import type { Role } from '../rights/rights.ts'
import type { Screens } from './screens.ts'
import type { Selections } from './selections.ts'

/** What the handler of a route works with. */
export interface Call {
  readonly session: Session
  /** Reads. */
  readonly pool: SqlPool
  /** Acts of the signed-in person. */
  readonly acts: SqlPool
  readonly screens: Screens
  readonly selections: Selections
  readonly contracts: ReadonlyMap<string, Consumer<never, never>>
  readonly maskedMembers: Readonly<Record<string, readonly string[]>>
  readonly signal: AbortSignal
  /** Names of the consumers in scope; undefined for all. */
  visible(): Promise<readonly string[] | undefined>
  /** Refuses a consumer outside the scope as if it did not exist. */
  assertVisible(consumer: string): Promise<void>
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

  constructor(name: string, type: string, content: string | Uint8Array<ArrayBuffer>) {
    this.name = name
    this.type = type
    this.content = content
  }
}
