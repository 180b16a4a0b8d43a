import type { Identity } from '../rights/rights.ts'
import { Problem } from './problem.ts'
import { RateLimit } from './rate-limit.ts'

/** How many requests a person and an address may make. They are kept by this process. */
export class Limits {
  /** Of a signed-in person, however many sessions they have. */
  readonly #people = new RateLimit(20, 100)
  /** Without a session, of an address. */
  readonly #strangers = new RateLimit(20, 100)
  /** Sign-ins that begin or fail, of an address. */
  readonly #signIns = new RateLimit(1, 20)

  assertPerson(identity: Identity): void {
    if (!this.#people.allows(`${identity.issuer} ${identity.subject}`)) throw new TooMany(identity)
  }

  assertStranger(address: string): void {
    if (!this.#strangers.allows(address)) throw new TooMany(null)
  }

  assertSignIn(address: string): void {
    if (!this.#signIns.allows(address)) throw new TooMany(null)
  }
}

/** `identity`: who asked too often, if they are signed in. */
export class TooMany extends Problem {
  readonly identity: Identity | null

  constructor(identity: Identity | null) {
    super(429, 'too_many', 'Too many requests. Wait a moment. Nothing was changed.')
    this.identity = identity
  }
}
