/** What a person may do. A person can have several roles. */
export type Role = 'viewer' | 'operator' | 'approver' | 'admin'
export const roles: readonly Role[] = ['viewer', 'operator', 'approver', 'admin']

/** How much of a payload a person sees. `masked`: values of listed members, or all values, are hidden. */
export type PayloadRight = 'full' | 'masked' | 'none'

/** The consumers that a person sees and acts on: all, or those of these owners or with these names. */
export interface Scope {
  readonly owners?: readonly string[] | undefined
  readonly consumers?: readonly string[] | undefined
}

/** Who is signed in. `subject` is unique at its `issuer`; `name` is the person in `onceward.person`. */
export interface Identity {
  readonly name: string
  readonly issuer: string
  readonly subject: string
}

export interface Rights {
  readonly roles: readonly Role[]
  /** Null: every consumer. */
  readonly scope: Scope | null
  readonly payload: PayloadRight
}

/** Rights that a group of the identity provider has. */
export interface Grant {
  /** The value of the groups claim or header; `*` for everybody who is signed in. */
  readonly group: string
  readonly roles: readonly Role[]
  /** Without a scope: every consumer. */
  readonly scope?: Scope | undefined
  readonly payload?: PayloadRight | undefined
}

const payloadOfRole: Readonly<Record<Role, PayloadRight>> = {
  viewer: 'masked',
  operator: 'full',
  approver: 'full',
  admin: 'full',
}
const payloadOrder: readonly PayloadRight[] = ['none', 'masked', 'full']

/** Null when no grant applies: the person is known and may do nothing. */
export function rightsOf(groups: readonly string[], grants: readonly Grant[]): Rights | null {
  const matching = grants.filter(({ group }) => group === '*' || groups.includes(group))
  if (matching.length === 0) return null
  const payloads = matching.map(grant => grant.payload ?? most(grant.roles.map(role => payloadOfRole[role])))
  return {
    roles: roles.filter(role => matching.some(grant => grant.roles.includes(role))),
    scope: matching.some(({ scope }) => scope === undefined) ? null : together(matching),
    payload: most(payloads),
  }
}

export const everything: Rights = { roles, scope: null, payload: 'full' }

/** Every role may do what a viewer may; an admin may do everything. */
export function hasRole(rights: Rights, role: Role): boolean {
  return role === 'viewer' || rights.roles.includes(role) || rights.roles.includes('admin')
}

export function inScope(scope: Scope | null, consumer: { readonly name: string; readonly owner: string }) {
  if (scope === null) return true
  return (scope.consumers ?? []).includes(consumer.name) || (scope.owners ?? []).includes(consumer.owner)
}

function together(grants: readonly Grant[]): Scope {
  return {
    owners: grants.flatMap(({ scope }) => scope?.owners ?? []),
    consumers: grants.flatMap(({ scope }) => scope?.consumers ?? []),
  }
}

function most(payloads: readonly PayloadRight[]): PayloadRight {
  return payloadOrder[Math.max(0, ...payloads.map(payload => payloadOrder.indexOf(payload)))]!
}
