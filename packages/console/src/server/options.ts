import type { Consumer } from 'onceward'
import type { ConsoleAuth } from './auth/auth.ts'

export interface ConsoleOptions {
  /** Address of the database, with a login in the role `onceward_console`. */
  readonly database: string
  readonly auth: ConsoleAuth
  /** Path below which the console is mounted, such as `/ops/onceward`. Default `/`. */
  readonly basePath?: string | undefined
  /** Contracts decode fixed payloads and show their pages. */
  readonly contracts?: readonly Consumer<never, never>[] | undefined
  /**
   * Members of JSON payloads that are hidden from those who see masked payloads, by consumer, such as
   * `{ orders: ['customer.iban'] }`. All members of other consumers are hidden.
   */
  readonly maskedMembers?: Readonly<Record<string, readonly string[]>> | undefined
}

/** A console. It opens its database on the first request. */
export interface Console {
  /** A plain fetch handler, for every server that has one. */
  fetch(request: Request): Promise<Response>
  /** The path, with a token, that signs this person in once with every right. Only with link auth. */
  signInLink(person: string): string
  close(): Promise<void>
}
