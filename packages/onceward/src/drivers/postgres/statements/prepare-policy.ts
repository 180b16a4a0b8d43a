import { OncewardError } from '../../../errors.ts'
import type { SqlClient, SqlResult } from '../pool.ts'

/**
 * Whether statements that handlers repeat within a transaction are prepared. `auto`: unless a pooler is in
 * between. `always`: also through a pooler. `never`: each statement is parsed and planned on its own.
 */
export type Prepare = (typeof prepareChoices)[number]
const prepareChoices = ['auto', 'always', 'never'] as const

/** Transactions without prepared statements after the server did not have one, or had to change one. */
const cautiousTransactions = 20

const askBackend = 'select pg_backend_pid() as pid'

/** Where connections lead, and whether prepared statements have failed recently. Shared by a store. */
export class PreparePolicy {
  readonly #prepare: Prepare
  /** By client: false if a pooler is in between, which invents the process id that it reports at connect. */
  readonly #direct = new WeakMap<object, boolean>()
  #left = 0

  constructor(prepare: Prepare = 'auto') {
    if (!prepareChoices.includes(prepare))
      throw new OncewardError(
        'configuration',
        `prepare (ONCEWARD_PREPARE) is "${prepare}"; it can be ${prepareChoices.join(', ')}. Nothing was started.`,
      )
    this.#prepare = prepare
  }

  allows(client: object): boolean {
    if (this.#prepare === 'never' || this.#left > 0) return false
    return this.#prepare === 'always' || this.#direct.get(client) === true
  }

  /** To be sent behind BEGIN, on a connection of which it is not known where it leads. */
  question(client: object): string {
    return this.#asks(client) ? `; ${askBackend}` : ''
  }

  /** `answer`: to BEGIN and the question. */
  answered(client: object, answer: SqlResult | readonly SqlResult[]): void {
    if (Array.isArray(answer)) this.#note(client, answer.at(-1))
  }

  /** The same question by itself. */
  async ask(client: SqlClient): Promise<void> {
    if (this.#asks(client)) this.#note(client, await client.query(askBackend))
  }

  #asks(client: object): boolean {
    return this.#prepare === 'auto' && !this.#direct.has(client)
  }

  #note(client: object, answer: SqlResult): void {
    const pid = answer.rows[0]?.pid
    if (pid !== undefined)
      this.#direct.set(client, (client as { processID?: number | null }).processID === pid)
  }

  lost(): void {
    this.#left = cautiousTransactions
  }

  ended(): void {
    if (this.#left > 0) this.#left--
  }
}

const stalePlan = Symbol('stale plan')

/** The error belongs to the preparing and not to the statement: the batch may succeed when run again. */
export function markStalePlan(error: Error): Error {
  return Object.assign(error, { [stalePlan]: true })
}

export function isStalePlan(error: object): boolean {
  return stalePlan in error
}
