import type { Grant } from '../rights/rights.ts'

/** Signs in by a link that the terminal prints. For loopback addresses only. */
export interface LinkAuth {
  readonly kind: 'link'
}

/** A proxy signs people in. Requests without its secret are refused. */
export interface ProxyAuth {
  readonly kind: 'proxy'
  /** Shared with the proxy, at least 16 characters. */
  readonly secret: string
  /** The address that browsers use, such as `https://console.example.com`. */
  readonly origin: string
  readonly grants: readonly Grant[]
  /**
   * Header in which the proxy in front of the console writes the address of the client, such as
   * `x-forwarded-for`; its last value counts. Limits for people who are not signed in are by this address.
   */
  readonly addressHeader?: string | undefined
  /** Names of the headers. Defaults: x-onceward-proxy-secret, x-forwarded-user, x-forwarded-groups. */
  readonly headers?:
    | { readonly secret?: string; readonly user?: string; readonly groups?: string }
    | undefined
}

/** OpenID Connect, authorization code flow with PKCE. */
export interface OpenIdAuth {
  readonly kind: 'openid'
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** The address that browsers use. The redirect URI is `<origin><basePath>/auth/callback`. */
  readonly origin: string
  readonly grants: readonly Grant[]
  /** Default `openid profile`. */
  readonly scope?: string | undefined
  /** The claim with the name in `onceward.person`. Default `preferred_username`. */
  readonly nameClaim?: string | undefined
  /** Default `groups`. */
  readonly groupsClaim?: string | undefined
  /**
   * Header in which the proxy in front of the console writes the address of the client, such as
   * `x-forwarded-for`; its last value counts. Limits for people who are not signed in are by this address.
   */
  readonly addressHeader?: string | undefined
  /** For a provider on loopback without TLS. */
  readonly allowInsecure?: boolean | undefined
}

export type ConsoleAuth = LinkAuth | ProxyAuth | OpenIdAuth
