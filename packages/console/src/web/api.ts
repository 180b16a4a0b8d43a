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

/** Calls a route. An act is sent once: a lost answer is shown, and nothing is repeated. */
export async function api(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Json> {
  const response = await fetch(new URL(`api/${path}`, document.baseURI), {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(method === 'POST' && { 'x-csrf-token': token }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch(() => {
    trouble.value = 'The console does not answer. It may be restarting.'
    throw new ApiError(
      0,
      'unreachable',
      'The console does not answer. Look at the audit before you act again.',
    )
  })
  const answer = await response.json().catch(() => ({}))
  if (response.ok) {
    trouble.value = null
    return answer
  }
  const { code = 'unexpected', message = `The console answered ${response.status}.` } = answer.error ?? {}
  if (response.status === 401) signedOut.value = true
  if (code === 'database_away') trouble.value = message
  throw new ApiError(response.status, code, message)
}

export const get = (path: string) => api('GET', path)
export const post = (path: string, body: unknown = {}) => api('POST', path, body)
