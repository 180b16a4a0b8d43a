import { OncewardError } from '../../errors.ts'
import { endOf } from '../late-answer.ts'
import type { RegisteredSchema } from '../registered-schema.ts'
import { timeoutDefaultMs } from '../registry/http-client.ts'
import type { SchemaIds, SchemaRegistry } from '../schema-source.ts'
import { IdFolder } from './id-folder.ts'

/**
 * What a producer may do at the registry. `lookup`: the schema must be among the versions of its subject.
 * `register`: it is added if it is new. An id: the registry is not queried.
 */
export type Registration = 'lookup' | 'register' | SchemaIds

/** Where ids of schemas are looked up and cached. */
export interface SchemaIdsOptions {
  readonly registry: SchemaRegistry
  readonly registration: Registration
  /** A folder that keeps ids across restarts. Default: none, so that a start needs the registry. */
  readonly cacheFolder?: string | undefined
  /** Default 5 s. The longest wait for the registry; it is part of the publishing transaction. */
  readonly timeoutMs?: number | undefined
}

/** Subjects of one encoder; a strategy makes few of them. */
const subjectsMax = 10_000

/** The ids of one schema under its subjects, each asked for once. */
export class SchemaIdCache {
  readonly #options: SchemaIdsOptions
  readonly #schema: RegisteredSchema
  readonly #folder: IdFolder | null
  readonly #known = new Map<string, SchemaIds>()
  readonly #asked = new Map<string, Promise<SchemaIds>>()

  constructor(options: SchemaIdsOptions, schema: RegisteredSchema) {
    this.#options = options
    this.#schema = schema
    const { cacheFolder, registry } = options
    this.#folder = cacheFolder === undefined ? null : new IdFolder(cacheFolder, registry.name)
  }

  get(subject: string): SchemaIds | Promise<SchemaIds> {
    const { registration } = this.#options
    if (typeof registration === 'object') return registration
    const known = this.#known.get(subject)
    if (known !== undefined) return known
    let asked = this.#asked.get(subject)
    if (asked === undefined) {
      asked = this.#ask(subject).finally(() => this.#asked.delete(subject))
      this.#asked.set(subject, asked)
    }
    return asked
  }

  async #ask(subject: string): Promise<SchemaIds> {
    const ids = await this.#find(subject)
    if (this.#known.size >= subjectsMax) this.#known.clear()
    this.#known.set(subject, ids)
    return ids
  }

  async #find(subject: string): Promise<SchemaIds> {
    try {
      const ids = await this.#request(subject)
      await this.#folder?.write(subject, this.#schema, ids)
      return ids
    } catch (error) {
      const isUnavailable = error instanceof OncewardError && error.code === 'registry_unavailable'
      const kept = isUnavailable ? await this.#folder?.read(subject, this.#schema) : null
      if (kept) return kept
      throw error
    }
  }

  async #request(subject: string): Promise<SchemaIds> {
    const { registry, registration, timeoutMs = timeoutDefaultMs } = this.#options
    const signal = AbortSignal.timeout(timeoutMs)
    const late = endOf(signal, registry.name, timeoutMs)
    if (registration === 'register')
      return Promise.race([registry.register(subject, this.#schema, signal), late])
    const found = await Promise.race([registry.lookup(subject, this.#schema, signal), late])
    if (found !== null) return found
    throw new OncewardError(
      'schema_refused',
      `subject ${subject} of ${registry.name} has no such schema, and the encoder only looks it up. Nothing was published. Register the schema, or set registration to 'register'.`,
    )
  }
}
