import type { Identity, Rights } from '../rights/rights.ts'
import { digestOf, newSecret } from './sessions.ts'

interface Link {
  readonly identity: Identity
  readonly rights: Rights
  readonly until: number
}

const lastsMs = 10 * 60_000

/** Links that sign in once. The token is in the fragment of the address, which browsers send to no server. */
export class Links {
  readonly #now: () => number
  readonly #open = new Map<string, Link>()

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  create(name: string, rights: Rights): string {
    const token = newSecret()
    const identity = { name, issuer: 'link', subject: name }
    this.#open.set(digestOf(token), { identity, rights, until: this.#now() + lastsMs })
    return token
  }

  /** Null for an unknown, used or expired token. */
  redeem(token: string): Pick<Link, 'identity' | 'rights'> | null {
    const link = this.#open.get(digestOf(token))
    this.#open.delete(digestOf(token))
    return link === undefined || link.until < this.#now() ? null : link
  }
}
