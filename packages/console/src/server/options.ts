import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Consumer, ReplayOptions } from 'onceward'
import type { ConsoleAuth } from './auth/auth.ts'

/**
 * A login that runs campaigns, compares and swaps tables: in the roles `onceward_run` and `onceward_console`,
 * with the rights of the consumer on its tables. Addresses of brokers come from the environment unless given.
 */
export type CampaignAccess = { readonly database: string } & Pick<
  ReplayOptions,
  'kafkaBootstrap' | 'rabbitmqStreamUrl'
>

/** A card above the overview, of the program that serves the console. */
export interface Headline {
  readonly title: string
  readonly about: string
  readonly state: 'running' | 'passed' | 'failed'
  /** From 0 to 1; null without an end. */
  readonly progress: number | null
  readonly figures: readonly { readonly name: string; readonly value: string }[]
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly found: string }[]
}

export interface ConsoleOptions {
  /** Address of the database, with a login in the role `onceward_console`. */
  readonly database: string
  readonly auth: ConsoleAuth
  /** Path below which the console is mounted, such as `/ops/onceward`. Default `/`. */
  readonly basePath?: string | undefined
  /** Contracts decode fixed payloads and show their pages. */
  readonly contracts?: readonly Consumer<never, never>[] | undefined
  /** Without it, campaigns are created, previewed and approved here, and run by the shown command. */
  readonly campaigns?: CampaignAccess | undefined
  /**
   * Members of JSON payloads that are hidden from those who see masked payloads, by consumer, such as
   * `{ orders: ['customer.iban'] }`, beside those in the contract (`message.maskedMembers`). All members of
   * other consumers are hidden.
   */
  readonly maskedMembers?: Readonly<Record<string, readonly string[]>> | undefined
  /** Called about once a second for each person who looks at the overview. */
  readonly headline?: (() => Headline | null) | undefined
}

/** A console. It opens its database on the first request. */
export interface Console {
  /**
   * A plain fetch handler, for every server that has one. `bindings`: what `@hono/node-server` passes too,
   * which has the address of the client.
   */
  fetch(request: Request, bindings?: object): Promise<Response>
  /**
   * The same for servers with Node's requests and answers: `http`, Express, Fastify, NestJS. A body that the
   * server has parsed already is taken from the request.
   */
  listener(request: IncomingMessage, response: ServerResponse): void
  /** The path, with a token, that signs this person in once with every right. Only with link auth. */
  signInLink(person: string): string
  close(): Promise<void>
}
