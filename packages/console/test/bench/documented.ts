import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { Answer, Client } from './client.ts'

interface Media {
  readonly schema: object
}
interface Operation {
  readonly responses: Readonly<Record<string, { $ref?: string; content?: Record<string, Media> }>>
}
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>
}

/** What the server answers is compared with its published document; what is not described is a finding. */
export class Documented {
  readonly document: Document
  readonly findings: string[] = []
  /** Operations that answered 200. */
  readonly seen = new Set<string>()
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
  readonly #known = new Map<string, ValidateFunction>()

  private constructor(document: Document) {
    this.document = document
  }

  /** Every answer that this client gets from now on is compared. */
  static async watch(client: Client, documented?: Documented): Promise<Documented> {
    const watching = documented ?? new Documented((await client.get('openapi.json')).body)
    client.onAnswer = (method, path, answer) => watching.check(method, path, answer)
    return watching
  }

  check(method: string, path: string, answer: Answer): void {
    const place = `/${path.split('?')[0]}`
    const found = this.#find(place, method.toLowerCase())
    const name = `${method} ${place} ${answer.status}`
    if (found === undefined) return void this.findings.push(`${name} is not described`)
    const [template, operation] = found
    if (answer.status === 200) this.seen.add(`${method.toLowerCase()} ${template}`)
    const response = operation.responses[answer.status]
    const { content } = response?.$ref === undefined ? (response ?? {}) : this.#resolve(response.$ref)
    const type = answer.headers.get('content-type')?.split(';')[0] ?? ''
    const schema = content?.[type]?.schema
    if (schema === undefined) return void this.findings.push(`${name} as ${type} is not described`)
    if (type !== 'application/json') return
    const validate = this.#validator(`${method} ${template} ${answer.status}`, schema)
    if (validate(answer.body)) return
    const [error] = validate.errors!
    this.findings.push(`${name}: ${error!.instancePath} ${error!.message} ${JSON.stringify(error!.params)}`)
  }

  #find(place: string, method: string): readonly [string, Operation] | undefined {
    const fits = Object.entries(this.document.paths).filter(
      ([template, methods]) =>
        methods[method] !== undefined &&
        new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(place),
    )
    const best = fits.toSorted(([a], [b]) => a.split('{').length - b.split('{').length)[0]
    return best && [best[0], best[1][method]!]
  }

  #resolve(ref: string): { content?: Record<string, Media> } {
    const [, , kind, name] = ref.split('/')
    return this.document.components[kind!]![name!]!
  }

  #validator(name: string, schema: object): ValidateFunction {
    const known = this.#known.get(name)
    if (known !== undefined) return known
    const { components } = this.document
    const validate = this.#ajv.compile({ ...closed(schema), components })
    this.#known.set(name, validate)
    return validate
  }
}

/** A described object with no other members: the document must name everything that is answered. */
function closed(schema: unknown): object {
  if (typeof schema !== 'object' || schema === null) return schema as never
  if (Array.isArray(schema)) return schema.map(closed)
  const members = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]))
  return 'properties' in schema && typeof schema.properties === 'object'
    ? { additionalProperties: false, ...members }
    : members
}
