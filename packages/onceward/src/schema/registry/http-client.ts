import type { Agent } from 'undici'
import { type BrokerTls, readTls } from '../../drivers/tls/broker-tls.ts'
import { errorText, OncewardError } from '../../errors.ts'

/** How a registry is reached. */
export interface RegistryAccess {
  /** `https://registry.example:8081`. A login needs https, except on this machine. */
  readonly url: string
  /** The login. Default none. */
  readonly auth?: BasicAuth | BearerAuth
  /** The authorities to trust and the client's certificate. Files are read with the first request. */
  readonly tls?: BrokerTls
  /** Default 5 s, for one schema with all that it refers to. Then the registry counts as unavailable. */
  readonly timeoutMs?: number
  /** The largest answer. Default 1 MiB. */
  readonly bytesMax?: number
  /** Sent with every request, such as the cluster id that a cloud asks for. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A login, sent as HTTP Basic. */
export interface BasicAuth {
  readonly username: string
  readonly password: string
}

/** A token, or a function that gives the current one before each request. */
export interface BearerAuth {
  readonly token: string | (() => string | Promise<string>)
}

export interface RegistryAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

export const timeoutDefaultMs = 5_000
const bytesDefaultMax = 1024 * 1024

/** An answer that is larger than the limit: the registry is there, and the schema cannot be used. */
export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge'
}

/** Requests to one registry. Loads its client with the first one; follows no redirects. */
export class RegistryHttp {
  readonly name: string
  readonly #access: RegistryAccess
  readonly #base: URL
  #agent: Promise<Agent> | null = null

  constructor(access: RegistryAccess) {
    this.#access = access
    this.#base = baseOf(access)
    this.name = `${this.#base.origin}${this.#base.pathname.replace(/\/$/, '')}`
  }

  /** Rejects with a `registry_unavailable` error without an answer, and on an answer of a refused login. */
  async request(
    method: 'GET' | 'POST',
    path: string,
    signal: AbortSignal,
    body?: unknown,
  ): Promise<RegistryAnswer> {
    const answer = await this.#send(method, path, signal, body).catch((error: unknown) => {
      if (error instanceof AnswerTooLarge) throw error
      throw this.unavailable(errorText(error, 200), error)
    })
    const { status } = answer
    if (status === 401 || status === 403)
      throw this.unavailable(`it refused the login (${status})`, undefined, status)
    if (status === 429 || (status >= 300 && status < 400))
      throw this.unavailable(`it answered ${status}`, undefined, status)
    return answer
  }

  /** `status`: of an answer that says so. */
  unavailable(why: string, cause?: unknown, status?: number): OncewardError {
    const details = status === undefined ? {} : { status }
    const text = `registry ${this.name} cannot be asked: ${why}`
    return new OncewardError('registry_unavailable', text, { cause, details })
  }

  async #send(
    method: 'GET' | 'POST',
    path: string,
    signal: AbortSignal,
    body: unknown,
  ): Promise<RegistryAnswer> {
    const { bytesMax = bytesDefaultMax, headers } = this.#access
    this.#agent ??= this.#open()
    const dispatcher = await this.#agent
    const { request } = await import('undici')
    const answer = await request(`${this.name}${path}`, {
      dispatcher,
      method,
      signal,
      headers: {
        accept: 'application/vnd.schemaregistry.v1+json, application/json',
        ...(body !== undefined && { 'content-type': 'application/vnd.schemaregistry.v1+json' }),
        ...(await authorization(this.#access)),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const parts: Buffer[] = []
    let bytes = 0
    for await (const part of answer.body as AsyncIterable<Buffer>) {
      bytes += part.length
      if (bytes > bytesMax) throw new AnswerTooLarge(`an answer of more than ${bytesMax} bytes`)
      parts.push(part)
    }
    return { status: answer.statusCode, headers: answer.headers, text: Buffer.concat(parts).toString('utf8') }
  }

  async #open(): Promise<Agent> {
    const { Agent } = await import('undici')
    const { tls, timeoutMs = timeoutDefaultMs } = this.#access
    const material = tls === undefined ? {} : readTls(tls, `Registry ${this.name}`)
    const connect = { timeout: timeoutMs, rejectUnauthorized: true, ...material }
    return new Agent({ connections: 8, keepAliveTimeout: 10_000, connect })
  }
}

async function authorization({ auth }: RegistryAccess): Promise<Record<string, string>> {
  if (auth === undefined) return {}
  if ('token' in auth) {
    const token = typeof auth.token === 'string' ? auth.token : await auth.token()
    return { authorization: `Bearer ${token}` }
  }
  const login = Buffer.from(`${auth.username}:${auth.password}`).toString('base64')
  return { authorization: `Basic ${login}` }
}

const ownHosts = new Set(['localhost', '[::1]'])

function baseOf({ url, auth, tls }: RegistryAccess): URL {
  const base = URL.canParse(url) ? new URL(url) : null
  if (base === null || !['http:', 'https:'].includes(base.protocol) || base.username !== '')
    throw unusable('url must be an http or https address without a login; pass the login as auth')
  const own = ownHosts.has(base.hostname) || base.hostname.startsWith('127.')
  if (base.protocol === 'http:' && auth !== undefined && !own)
    throw unusable(`${base.host} would receive the login in plain text; use https`)
  if (base.protocol === 'http:' && tls !== undefined)
    throw unusable('tls is set and the address is not https: nothing would be encrypted')
  return base
}

function unusable(why: string): OncewardError {
  return new OncewardError('configuration', `Schema registry: ${why}. Nothing was opened.`)
}
