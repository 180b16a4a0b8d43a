import { isRecord } from '../../contract/check-values.ts'
import { errorText, OncewardError } from '../../errors.ts'
import { type ReferencedSchema, type RegisteredSchema, schemaTypes } from '../registered-schema.ts'
import { refText, type SchemaRef } from '../schema-ref.ts'
import type { SchemaIds, SchemaRegistry, SchemaVersion } from '../schema-source.ts'
import { AnswerTooLarge, type RegistryAccess, type RegistryAnswer, RegistryHttp } from './http-client.ts'

/** Schemas that one schema may name, directly and by others. */
const referencesMax = 100

interface SchemaAnswer {
  readonly schema: string
  readonly schemaType?: string
  readonly references?: readonly Reference[]
}

interface Reference {
  readonly name: string
  readonly subject: string
  readonly version: number
}

/**
 * A registry with Confluent's REST interface: Confluent's own, Redpanda's, Karapace, and Apicurio's
 * `/apis/ccompat/v7`.
 */
export function confluentRegistry(access: RegistryAccess): SchemaRegistry {
  return new ConfluentRegistry(access)
}

class ConfluentRegistry implements SchemaRegistry {
  readonly name: string
  readonly #http: RegistryHttp

  constructor(access: RegistryAccess) {
    this.#http = new RegistryHttp(access)
    this.name = this.#http.name
  }

  async find(ref: SchemaRef, signal: AbortSignal): Promise<RegisteredSchema | null> {
    if (ref.kind !== 'id' && ref.kind !== 'guid')
      throw new OncewardError('configuration', `Registry ${this.name} has no ${ref.kind}: wrong wire format.`)
    const path = ref.kind === 'id' ? `/schemas/ids/${ref.id}` : `/schemas/guids/${ref.guid}`
    try {
      return await this.#schema(path, signal)
    } catch (error) {
      if (!(error instanceof AnswerTooLarge)) throw error
      const text = `schema ${refText(ref)} of ${this.name}: the registry sent ${error.message}`
      throw new OncewardError('schema_unknown', text, { cause: error })
    }
  }

  async answers(signal: AbortSignal): Promise<boolean> {
    return (await this.#http.request('GET', '/subjects?limit=1', signal)).status === 200
  }

  async versions(subject: string, signal: AbortSignal): Promise<readonly SchemaVersion[]> {
    const at = `/subjects/${encodeURIComponent(subject)}/versions`
    const numbers = this.#json<readonly number[]>(await this.#http.request('GET', at, signal)) ?? []
    if (!Array.isArray(numbers) || !numbers.every(Number.isSafeInteger))
      throw this.#http.unavailable('it answered without a list of versions')
    const found: SchemaVersion[] = []
    for (const version of numbers) {
      const schema = await this.#schema(`${at}/${version}`, signal)
      if (schema !== null) found.push({ version, schema })
    }
    return found
  }

  async lookup(subject: string, schema: RegisteredSchema, signal: AbortSignal): Promise<SchemaIds | null> {
    const at = `/subjects/${encodeURIComponent(subject)}`
    const answer = await this.#http.request('POST', at, signal, requestOf(schema))
    return idsOf(this.#json(answer))
  }

  async register(subject: string, schema: RegisteredSchema, signal: AbortSignal): Promise<SchemaIds> {
    const at = `/subjects/${encodeURIComponent(subject)}/versions`
    const answer = await this.#http.request('POST', at, signal, requestOf(schema))
    if (answer.status === 409 || answer.status === 422)
      throw new OncewardError(
        'schema_refused',
        `registry ${this.name} refused the schema of subject ${subject}: ${reasonOf(answer)}`,
      )
    const registered = idsOf(this.#json(answer))
    if (registered === null) throw this.#http.unavailable(`it answered ${answer.status} to a registration`)
    // Older registries answer with the id alone.
    return registered.guid === null
      ? ((await this.lookup(subject, schema, signal)) ?? registered)
      : registered
  }

  async refusals(subject: string, schema: RegisteredSchema, signal: AbortSignal): Promise<readonly string[]> {
    const at = `/compatibility/subjects/${encodeURIComponent(subject)}/versions/latest?verbose=true`
    const answer = await this.#http.request('POST', at, signal, requestOf(schema))
    if (answer.status === 422) return [reasonOf(answer)]
    const verdict = this.#json<{ is_compatible?: unknown; messages?: unknown }>(answer)
    // A subject without versions accepts any.
    if (verdict === null || verdict.is_compatible === true) return []
    const messages = Array.isArray(verdict.messages) ? verdict.messages.map(one => String(one)) : []
    return messages.length > 0 ? messages : ['it is not compatible']
  }

  async #schema(path: string, signal: AbortSignal): Promise<RegisteredSchema | null> {
    const answer = this.#json<SchemaAnswer>(await this.#http.request('GET', path, signal))
    if (answer === null) return null
    const { text, references, type = 'AVRO' } = this.#parts(answer)
    const known = schemaTypes.find(one => one === type)
    if (known === undefined) throw this.#http.unavailable('it answered with a schema of another type')
    const found = new Map<string, ReferencedSchema>()
    await this.#follow(references, found, signal)
    return { type: known, text, references: [...found.values()] }
  }

  /** Each schema follows those that it names. A cycle ends at a schema that is on its way. */
  async #follow(
    references: readonly Reference[],
    found: Map<string, ReferencedSchema>,
    signal: AbortSignal,
    onWay: ReadonlySet<string> = new Set(),
  ): Promise<void> {
    for (const { name, subject, version } of references) {
      if (found.has(name) || onWay.has(name)) continue
      if (found.size + onWay.size >= referencesMax)
        throw new OncewardError('schema_unknown', `it names more than ${referencesMax} other schemas`)
      const path = `/subjects/${encodeURIComponent(subject)}/versions/${encodeURIComponent(version)}`
      const answer = this.#json<SchemaAnswer>(await this.#http.request('GET', path, signal))
      if (answer === null)
        throw new OncewardError('schema_unknown', `it names ${subject} version ${version}, which is unknown`)
      const { text, references: more } = this.#parts(answer)
      await this.#follow(more, found, signal, new Set([...onWay, name]))
      found.set(name, { name, text })
    }
  }

  /** The members of an answer with a schema; another server, or a broken one, may send anything. */
  #parts(answer: SchemaAnswer): {
    readonly text: string
    readonly type: string | undefined
    readonly references: readonly Reference[]
  } {
    const { schema: text, schemaType: type, references = [] } = answer
    if (typeof text !== 'string' || !Array.isArray(references) || !references.every(isReference))
      throw this.#http.unavailable('it answered without a schema')
    return { text, type, references }
  }

  /** Null for what the registry does not know. A 404 without its error code comes from another server. */
  #json<T>(answer: RegistryAnswer): T | null {
    const { status } = answer
    if (status >= 500) throw this.#http.unavailable(`it answered ${status}`, undefined, status)
    let value: unknown
    try {
      value = JSON.parse(answer.text)
    } catch {
      throw this.#http.unavailable(`it answered ${status} without JSON`, undefined, status)
    }
    if (status === 404 && typeof (value as { error_code?: unknown } | null)?.error_code === 'number')
      return null
    if (status !== 200) throw this.#http.unavailable(`it answered ${status}`, undefined, status)
    return value as T
  }
}

function isReference(value: unknown): value is Reference {
  if (!isRecord(value)) return false
  return (
    typeof value.name === 'string' && typeof value.subject === 'string' && Number.isSafeInteger(value.version)
  )
}

function requestOf({ type, text, references }: RegisteredSchema): unknown {
  if (references.length > 0)
    throw new OncewardError(
      'usage',
      'A schema with references cannot be registered here; register it separately.',
    )
  return { schema: text, ...(type !== 'AVRO' && { schemaType: type }) }
}

function idsOf(answer: unknown): SchemaIds | null {
  const { id, guid } = (answer ?? {}) as { id?: unknown; guid?: unknown }
  return typeof id === 'number' ? { id, guid: typeof guid === 'string' ? guid : null } : null
}

function reasonOf({ text }: RegistryAnswer): string {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message).slice(0, 500)
  } catch (error) {
    return errorText(error, 200)
  }
}
