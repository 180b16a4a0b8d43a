import { signal } from '@preact/signals'

/** An answer of the API that is not a success. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** Why the server cannot be used now; null when it can. Shown as a banner. */
export const trouble = signal<string | null>(null)
export const signedOut = signal(false)
let token = ''

export function useToken(csrf: string): void {
  token = csrf
}

// biome-ignore lint/suspicious/noExplicitAny: shaped by the route
export type Json = any

interface CallOptions {
  readonly body?: unknown
  readonly key?: string
  readonly signal?: AbortSignal
  /** The page asks by itself: it does not keep the session open. */
  readonly background?: true
}

async function call(method: 'GET' | 'POST', path: string, options: CallOptions): Promise<Json> {
  const { body, key, signal: stop, background } = options
  const lost = (error: unknown) => {
    if (stop?.aborted) throw error
    trouble.value = 'The console does not answer. It may be restarting.'
    throw new ApiError(0, 'unreachable', unanswered(method))
  }
  const response = await fetch(new URL(`api/${path}`, document.baseURI), {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(method === 'POST' && { 'x-csrf-token': token }),
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(background && { 'x-onceward-background': '1' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(stop && { signal: stop }),
  }).catch(lost)
  if (response.ok) {
    // An answer that breaks off is a lost one.
    const answer = await response.json().catch(lost)
    trouble.value = null
    return answer
  }
  const answer = await response.json().catch(() => ({}))
  const { code = 'unexpected', message = `The console answered ${response.status}.` } = answer.error ?? {}
  if (response.status === 401) signedOut.value = true
  if (code === 'database_unavailable') trouble.value = message
  throw new ApiError(response.status, code, message)
}

function unanswered(method: string): string {
  return method === 'GET'
    ? 'The console does not answer.'
    : 'The console did not answer, so it is not known whether this was done. Press the button again: it is not done twice.'
}

export const get = (path: string, stop?: AbortSignal) => call('GET', path, stop ? { signal: stop } : {})

/** What a page asks for without a person. */
export const refreshed = (path: string, stop?: AbortSignal) =>
  call('GET', path, { background: true, ...(stop && { signal: stop }) })

/** Keys of acts whose answer was lost. The same act again is sent under the same key, and is not repeated. */
const openActs = new Map<string, string>()

export async function post(path: string, body: unknown = {}): Promise<Json> {
  const act = `${path} ${JSON.stringify(body)}`
  const key = openActs.get(act) ?? crypto.randomUUID()
  openActs.set(act, key)
  try {
    const answer = await call('POST', path, { body, key })
    openActs.delete(act)
    return answer
  } catch (error) {
    const { status } = error as ApiError
    if (status !== 0 && status !== 503) openActs.delete(act)
    throw error
  }
}
