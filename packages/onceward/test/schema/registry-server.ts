import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Kept {
  readonly id: number
  readonly guid: string
  readonly schema: string
  readonly schemaType: string
  readonly references: readonly { name: string; subject: string; version: number }[]
}

interface Answer {
  readonly status: number
  readonly body: unknown
}

/**
 * A schema registry with the part of Confluent's REST interface that the library uses. Real HTTP, schemas in
 * memory. Its compatibility check is a list of refused schemas.
 */
export class RegistryServer {
  /** Method and path of every request. */
  readonly requests: string[] = []
  readonly refusedSchemas = new Set<string>()
  /** Answers instead of the registry, if it returns one. */
  intervene: (path: string) => Answer | 'silence' | Buffer | null = () => null
  authorization: string | null = null
  readonly #byId = new Map<number, Kept>()
  readonly #subjects = new Map<string, number[]>()
  #server: Server | null = null
  #port: number

  /** Default: any free port. */
  constructor(port = 0) {
    this.#port = port
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** On the same port as before, if it had one. */
  async start(): Promise<this> {
    const server = createServer((request, response) => {
      void this.#answer(request).then(answer => {
        if (answer === 'silence') return
        if (!('status' in answer)) return void response.end(answer)
        response.writeHead(answer.status, { 'content-type': 'application/vnd.schemaregistry.v1+json' })
        response.end(JSON.stringify(answer.body))
      })
    })
    await new Promise<void>(resolve => server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (server.address() as AddressInfo).port
    this.#server = server
    return this
  }

  async stop(): Promise<void> {
    const server = this.#server
    this.#server = null
    if (server === null) return
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }

  /** Under the next id, or a given one. */
  add(
    subject: string,
    schema: string | object,
    {
      schemaType = 'AVRO',
      id = this.#byId.size + 1,
      guid = guidOf(id),
      references = [] as Kept['references'],
    } = {},
  ): number {
    const text = typeof schema === 'string' ? schema : JSON.stringify(schema)
    this.#byId.set(id, { id, guid, schema: text, schemaType, references })
    const versions = this.#subjects.get(subject) ?? []
    if (!versions.includes(id)) this.#subjects.set(subject, [...versions, id])
    return id
  }

  versions(subject: string): number {
    return this.#subjects.get(subject)?.length ?? 0
  }

  async #answer(request: IncomingMessage): Promise<Answer | 'silence' | Buffer> {
    const path = request.url ?? '/'
    this.requests.push(`${request.method} ${path}`)
    const body = await bodyOf(request)
    const instead = this.intervene(path)
    if (instead !== null) return instead
    if (this.authorization !== null && request.headers.authorization !== this.authorization)
      return { status: 401, body: { error_code: 401, message: 'Unauthorized' } }
    return this.#route(request.method ?? 'GET', new URL(path, this.url).pathname.split('/').slice(1), body)
  }

  #route(method: string, parts: readonly string[], body: unknown): Answer {
    const [first, second, third, fourth] = parts.map(decodeURIComponent)
    const given = body as { schema: string; schemaType?: string }
    if (first === 'schemas' && second === 'ids') return this.#found(this.#byId.get(Number(third)))
    if (first === 'schemas' && second === 'guids')
      return this.#found([...this.#byId.values()].find(({ guid }) => guid === third))
    if (first === 'compatibility') return this.#judge(given)
    if (first !== 'subjects') return { status: 404, body: 'no such path' }
    if (second === undefined) return { status: 200, body: [...this.#subjects.keys()] }
    const ids = this.#subjects.get(second)
    const same = ids?.find(id => this.#byId.get(id)!.schema === given?.schema)
    if (method === 'POST' && third === undefined)
      return same === undefined ? unknownSchema : this.#registered(same)
    if (method === 'POST') {
      if (this.refusedSchemas.has(given.schema))
        return { status: 409, body: { error_code: 409, message: 'incompatible with an earlier schema' } }
      const id =
        same ?? this.add(second, given.schema, given.schemaType ? { schemaType: given.schemaType } : {})
      return this.#registered(id)
    }
    if (ids === undefined) return { status: 404, body: { error_code: 40401, message: 'Subject not found.' } }
    if (fourth === undefined) return { status: 200, body: ids.map((_, index) => index + 1) }
    return this.#found(this.#byId.get(ids[Number(fourth) - 1] ?? 0))
  }

  #registered(id: number): Answer {
    return { status: 200, body: { id, guid: this.#byId.get(id)!.guid } }
  }

  #judge({ schema }: { schema: string }): Answer {
    const refused = this.refusedSchemas.has(schema)
    return {
      status: 200,
      body: { is_compatible: !refused, messages: refused ? ['READER_FIELD_MISSING_DEFAULT_VALUE'] : [] },
    }
  }

  #found(kept: Kept | undefined): Answer {
    if (kept === undefined) return unknownSchema
    const { schema, schemaType, references, guid } = kept
    const named = references.length > 0 ? { references } : {}
    return {
      status: 200,
      body: { schema, guid, ...named, ...(schemaType !== 'AVRO' && { schemaType }) },
    }
  }
}

const unknownSchema: Answer = { status: 404, body: { error_code: 40403, message: 'Schema not found' } }

function guidOf(id: number): string {
  const hex = createHash('sha256').update(String(id)).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return parts.length === 0 ? null : JSON.parse(Buffer.concat(parts).toString('utf8'))
}
