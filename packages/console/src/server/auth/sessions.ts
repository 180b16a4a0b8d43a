import { createHash, randomBytes } from 'node:crypto'
import type { Identity, Rights } from '../rights/rights.ts'

/** A signed-in person. The cookie has the id; this process keeps only its digest. */
export interface Session {
  readonly identity: Identity
  readonly rights: Rights
  /** Sent with every act in the header `x-csrf-token`. */
  readonly csrf: string
  readonly since: number
  seen: number
}

/** An id of a session, until it is replaced by another. */
interface Entry {
  readonly session: Session
  readonly made: number
  /** After this it is refused; null while it is the newest id of its session. */
  until: number | null
}

const idleMs = 30 * 60_000
const rotateMs = 15 * 60_000
/** Requests that were sent before the browser had the new id. */
const graceMs = 60_000
const absoluteMs = 12 * 3_600_000
const sessionsMax = 10_000

/** Sessions live in this process: after a restart people sign in again. */
export class Sessions {
  readonly #now: () => number
  readonly #byDigest = new Map<string, Entry>()

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** Always under a new id: an id that an attacker planted before the sign-in is worthless. */
  open(
    identity: Identity,
    rights: Rights,
    formerId?: string,
  ): { readonly id: string; readonly session: Session } {
    if (formerId !== undefined) this.close(formerId)
    this.#removeExpired()
    const id = newSecret()
    const now = this.#now()
    const session = { identity, rights, csrf: newSecret(), since: now, seen: now }
    this.#byDigest.set(digestOf(id), { session, made: now, until: null })
    return { id, session }
  }

  /** Another id for the same session, when this one is a quarter of an hour old. Null before. */
  rotate(id: string): string | null {
    const entry = this.#byDigest.get(digestOf(id))
    const now = this.#now()
    if (entry === undefined || entry.until !== null || now - entry.made < rotateMs) return null
    entry.until = now + graceMs
    const next = newSecret()
    this.#byDigest.set(digestOf(next), { session: entry.session, made: now, until: null })
    return next
  }

  /** `counts`: the request is a person's, not one that an open page makes by itself. */
  find(id: string | undefined, counts = true): Session | null {
    if (id === undefined) return null
    const entry = this.#byDigest.get(digestOf(id))
    if (entry === undefined) return null
    const { session, until } = entry
    if (until !== null && until < this.#now()) {
      this.#byDigest.delete(digestOf(id))
      return null
    }
    if (this.#isExpired(session)) {
      this.close(id)
      return null
    }
    if (counts) session.seen = this.#now()
    return session
  }

  /** Ends the session under all its ids. */
  close(id: string): void {
    const closed = this.#byDigest.get(digestOf(id))?.session
    if (closed === undefined) return
    for (const [digest, { session }] of this.#byDigest) if (session === closed) this.#byDigest.delete(digest)
  }

  /** For a stream: it ends with its session, and does not keep it open. */
  isOpen(session: Session): boolean {
    return !this.#isExpired(session) && [...this.#byDigest.values()].some(one => one.session === session)
  }

  #isExpired({ since, seen }: Session): boolean {
    const now = this.#now()
    return now - seen > idleMs || now - since > absoluteMs
  }

  #removeExpired(): void {
    for (const [digest, { session }] of this.#byDigest)
      if (this.#isExpired(session) || this.#byDigest.size >= sessionsMax) this.#byDigest.delete(digest)
  }
}

export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}
