import { errorCode, errorText, OncewardError } from '../errors.ts'
import { endOf } from './late-answer.ts'
import { RefusedRefs } from './refused-refs.ts'
import { isSameSchema, type RegisteredSchema } from './registered-schema.ts'
import { timeoutDefaultMs } from './registry/http-client.ts'
import { SchemaFolder } from './schema-folder.ts'
import { refText, type SchemaRef } from './schema-ref.ts'
import type { SchemaSource } from './schema-source.ts'

export interface SchemaCacheOptions {
  readonly source: SchemaSource
  /** Keeps schemas on disk. Default: in memory only, so that a start needs the registry. */
  readonly folder?: string | undefined
  /** Default 5 s. The longest wait for one schema. */
  readonly timeoutMs?: number | undefined
  /** Default 1,000. Compiled schemas in memory; the longest unused is dropped. */
  readonly schemasMax?: number | undefined
  /** Default 30 s. How long an unknown schema is not asked for again. */
  readonly unknownForMs?: number | undefined
  readonly nowMs?: () => number
}

/** Most unknown schemas that are remembered: senders choose the ids. */
const unknownMax = 10_000
/** Most requests at a time. */
const requestsMax = 8
/** For reading a file, loading a library and compiling. */
const compileMs = 5_000
const ownCodes = new Set(['registry_unavailable', 'schema_unknown', 'configuration'])

/**
 * The schemas of one registry, compiled. A schema never changes under its id, so each is asked for once in a
 * process. With a folder, the first use compares the file with the registry; without an answer the file
 * counts. Another schema under a known id is an error: the registry was replaced.
 */
export class SchemaCache<T> {
  readonly waitMaxMs: number
  readonly #options: SchemaCacheOptions
  readonly #compile: (schema: RegisteredSchema) => Promise<T>
  readonly #folder: SchemaFolder | null
  readonly #known = new Map<string, T>()
  readonly #asked = new Map<string, Promise<T>>()
  readonly #unknown = new Map<string, { readonly untilMs: number; readonly error: unknown }>()
  readonly #refused = new RefusedRefs(unknownMax)
  readonly #queue: (() => void)[] = []
  #found: SchemaRef | null = null
  #requests = 0

  constructor(options: SchemaCacheOptions, compile: (schema: RegisteredSchema) => Promise<T>) {
    this.#options = options
    this.#compile = compile
    this.#folder = options.folder === undefined ? null : new SchemaFolder(options.folder, options.source.name)
    // The schema, and whether the registry answers at all.
    this.waitMaxMs = 2 * (options.timeoutMs ?? timeoutDefaultMs) + compileMs
  }

  /** At once if the schema is known. Its errors are `registry_unavailable`, `schema_unknown` or of itself. */
  get(ref: SchemaRef): T | Promise<T> {
    const key = refText(ref)
    const known = this.#known.get(key)
    if (known !== undefined) {
      this.#known.delete(key)
      this.#known.set(key, known)
      return known
    }
    const unknown = this.#unknown.get(key)
    if (unknown !== undefined && unknown.untilMs > this.#nowMs()) throw unknown.error
    let asked = this.#asked.get(key)
    if (asked === undefined) {
      asked = this.#ask(key, ref).finally(() => this.#asked.delete(key))
      this.#asked.set(key, asked)
    }
    return asked
  }

  /** True if the registry, or the folder, has the schema now; asks even if it was just unknown. */
  async knows(ref: SchemaRef): Promise<boolean> {
    this.#unknown.delete(refText(ref))
    try {
      await this.get(ref)
      return true
    } catch (error) {
      return !['schema_unknown', 'registry_unavailable'].includes(errorCode(error))
    }
  }

  async #ask(key: string, ref: SchemaRef): Promise<T> {
    try {
      const compiled = await this.#compile(await this.#find(ref))
      this.#known.set(key, compiled)
      const { schemasMax = 1_000 } = this.#options
      if (this.#known.size > schemasMax) this.#known.delete(this.#known.keys().next().value!)
      return compiled
    } catch (error) {
      if (errorCode(error) !== 'registry_unavailable') this.#remember(key, error)
      throw error
    }
  }

  #remember(key: string, error: unknown): void {
    const { unknownForMs = 30_000 } = this.#options
    this.#unknown.delete(key)
    this.#unknown.set(key, { untilMs: this.#nowMs() + unknownForMs, error })
    if (this.#unknown.size > unknownMax) this.#unknown.delete(this.#unknown.keys().next().value!)
  }

  async #find(ref: SchemaRef): Promise<RegisteredSchema> {
    const kept = (await this.#folder?.read(ref)) ?? null
    const found = await this.#foundBy(ref).catch((error: unknown) => {
      if (errorCode(error) !== 'registry_unavailable') throw error
      return kept ?? this.#failed(ref, error)
    })
    const { name } = this.#options.source
    // A deleted schema was known once: its messages are still read.
    if (found === null && kept !== null) return kept
    if (found === null)
      throw new OncewardError('schema_unknown', `schema ${refText(ref)} is unknown to ${name}`)
    if (kept !== null && !isSameSchema(kept, found))
      throw new OncewardError(
        'schema_unknown',
        `schema ${refText(ref)} of ${name} is another one than before: the registry was replaced. Remove the cache folder if its messages are of the new one.`,
      )
    if (kept === null) await this.#folder?.write(ref, found)
    return found
  }

  async #foundBy(ref: SchemaRef): Promise<RegisteredSchema | null> {
    const { source } = this.#options
    const found = await this.#request(signal => source.find(ref, signal))
    this.#refused.delete(refText(ref))
    if (found !== null) this.#found = ref
    return found
  }

  /** A registry that fails for one schema repeatedly and answers otherwise is not unavailable. */
  async #failed(ref: SchemaRef, error: unknown): Promise<never> {
    if (!this.#refused.add(refText(ref), error) || !(await this.#answers())) throw error
    const { name } = this.#options.source
    const text = `schema ${refText(ref)} of ${name}: the registry answers and fails for it: ${errorText(error, 300)}`
    throw new OncewardError('schema_unknown', text, { cause: error })
  }

  async #answers(): Promise<boolean> {
    const { source } = this.#options
    const found = this.#found
    if (source.answers === undefined && found === null) return false
    const ask = async (signal: AbortSignal) =>
      source.answers === undefined ? (await source.find(found!, signal)) !== null : source.answers(signal)
    return this.#request(ask).catch(() => false)
  }

  /** One time limit for the turn and the answer: a late one means that the registry is unavailable. */
  async #request<A>(ask: (signal: AbortSignal) => Promise<A>): Promise<A> {
    const { source, timeoutMs = timeoutDefaultMs } = this.#options
    const signal = AbortSignal.timeout(timeoutMs)
    const late = endOf(signal, source.name, timeoutMs)
    try {
      return await Promise.race([this.#inTurn(ask, signal, late), late])
    } catch (error) {
      if (ownCodes.has(errorCode(error))) throw error
      const text = `registry ${source.name} cannot be asked: ${errorText(error, 300)}`
      throw new OncewardError('registry_unavailable', text, { cause: error })
    }
  }

  /** A source that ignores its signal does not keep its place either. */
  async #inTurn<A>(
    ask: (signal: AbortSignal) => Promise<A>,
    signal: AbortSignal,
    late: Promise<never>,
  ): Promise<A> {
    while (this.#requests >= requestsMax) await new Promise<void>(resolve => this.#queue.push(resolve))
    this.#requests++
    try {
      signal.throwIfAborted()
      return await Promise.race([ask(signal), late])
    } finally {
      this.#requests--
      this.#queue.shift()?.()
    }
  }

  #nowMs(): number {
    return this.#options.nowMs?.() ?? performance.now()
  }
}
