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

const idleMs = 30 * 60_000
const absoluteMs = 12 * 3_600_000
const sessionsMax = 10_000

/** Sessions live in this process: after a restart people sign in again. */
export class Sessions {
  readonly #now: () => number
  readonly #byDigest = new Map<string, Session>()

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
    this.#byDigest.set(digestOf(id), session)
    return { id, session }
  }

  find(id: string | undefined): Session | null {
    if (id === undefined) return null
    const session = this.#byDigest.get(digestOf(id))
    if (session === undefined) return null
    if (this.#isExpired(session)) {
      this.close(id)
      return null
    }
    session.seen = this.#now()
    return session
  }

  close(id: string): void {
    this.#byDigest.delete(digestOf(id))
  }

  /** For a stream: it ends with its session, and does not keep it open. */
  isOpen(session: Session): boolean {
    return !this.#isExpired(session) && [...this.#byDigest.values()].includes(session)
  }

  #isExpired({ since, seen }: Session): boolean {
    const now = this.#now()
    return now - seen > idleMs || now - since > absoluteMs
  }

  #removeExpired(): void {
    for (const [digest, session] of this.#byDigest)
      if (this.#isExpired(session) || this.#byDigest.size >= sessionsMax) this.#byDigest.delete(digest)
  }
}

export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}
