import { signal } from '@preact/signals'
import { ApiError, get, type Json, post, signedOut, useToken } from './api.ts'
import { startLive } from './live.ts'

export interface SessionView {
  readonly person: string
  readonly issuer: string
  readonly roles: readonly string[]
  readonly payload: 'full' | 'masked' | 'none'
  readonly signOut: boolean
  /** The program that serves the console shows a card of its own. */
  readonly headline: boolean
}

export const session = signal<SessionView | null>(null)
export const signInKind = signal<'link' | 'proxy' | 'openid' | null>(null)
export const signInProblem = signal<string | null>(null)

const problems: Record<string, string> = {
  failed: 'The sign-in did not complete. Try again.',
  'no-rights': 'You are signed in, but no grant of this console applies to you.',
}

/** The token of a link is in the fragment: it is used once and removed from the address. */
export async function startSession(): Promise<void> {
  const hash = new URLSearchParams(location.hash.slice(1))
  if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search)
  try {
    const link = hash.get('link')
    if (link !== null) await post('sign-in', { token: link })
    signInProblem.value = problems[hash.get('sign-in') ?? ''] ?? null
    open(await get('session'))
  } catch (error) {
    signInKind.value = (await get('sign-in').catch(() => ({ kind: null }))).kind
    signedOut.value = true
    if (error instanceof ApiError && error.code !== 'not_signed_in') signInProblem.value = error.message
  }
}

function open({ csrf, ...view }: Json): void {
  useToken(csrf)
  session.value = view
  signedOut.value = false
  startLive()
}

export async function signOut(): Promise<void> {
  await post('sign-out')
  session.value = null
  signedOut.value = true
}

/** For the page only: the server and the database decide. */
export function may(role: string): boolean {
  const { roles = [] } = session.value ?? {}
  return roles.includes(role) || roles.includes('admin')
}
