import * as client from 'openid-client'
import { type Identity, type Rights, rightsOf } from '../rights/rights.ts'
import type { OpenIdAuth } from './auth.ts'

interface Pending {
  readonly verifier: string
  readonly nonce: string
  readonly state: string
  readonly until: number
}

const lastsMs = 10 * 60_000

/** The authorization code flow: state, nonce and PKCE belong to one browser, by the id in its cookie. */
export class OpenId {
  readonly #auth: OpenIdAuth
  readonly #redirectUri: string
  readonly #pending = new Map<string, Pending>()
  #configuration: Promise<client.Configuration> | null = null

  constructor(auth: OpenIdAuth, redirectUri: string) {
    this.#auth = auth
    this.#redirectUri = redirectUri
  }

  /** The provider's address for this sign-in. */
  async begin(id: string): Promise<URL> {
    const verifier = client.randomPKCECodeVerifier()
    const [state, nonce] = [client.randomState(), client.randomNonce()]
    const configuration = await this.#discover()
    this.#forgetOld()
    this.#pending.set(id, { verifier, nonce, state, until: Date.now() + lastsMs })
    return client.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#redirectUri,
      scope: this.#auth.scope ?? 'openid profile',
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    })
  }

  /** Null when this browser did not begin the sign-in. Rejects when the provider's answer is not valid. */
  async end(
    id: string,
    query: URLSearchParams,
  ): Promise<{ readonly identity: Identity; readonly rights: Rights | null } | null> {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    if (pending === undefined || pending.until < Date.now()) return null
    const answer = new URL(this.#redirectUri)
    answer.search = query.toString()
    const tokens = await client.authorizationCodeGrant(await this.#discover(), answer, {
      pkceCodeVerifier: pending.verifier,
      expectedState: pending.state,
      expectedNonce: pending.nonce,
      idTokenExpected: true,
    })
    return this.#person(tokens.claims()!)
  }

  #person(claims: client.IDToken): { readonly identity: Identity; readonly rights: Rights | null } {
    const { nameClaim = 'preferred_username', groupsClaim = 'groups', grants } = this.#auth
    const groups = claims[groupsClaim]
    const names = Array.isArray(groups) ? groups.filter(group => typeof group === 'string') : []
    const name = typeof claims[nameClaim] === 'string' ? claims[nameClaim] : claims.sub
    const identity = { name, issuer: claims.iss, subject: claims.sub }
    return { identity, rights: rightsOf(names, grants) }
  }

  #discover(): Promise<client.Configuration> {
    const { issuer, clientId, clientSecret, allowInsecure } = this.#auth
    this.#configuration ??= client
      .discovery(new URL(issuer), clientId, clientSecret, undefined, {
        execute: allowInsecure === true ? [client.allowInsecureRequests] : [],
      })
      .catch(error => {
        this.#configuration = null
        throw error
      })
    return this.#configuration
  }

  #forgetOld(): void {
    for (const [id, { until }] of this.#pending)
      if (until < Date.now() || this.#pending.size > 10_000) this.#pending.delete(id)
  }
}
