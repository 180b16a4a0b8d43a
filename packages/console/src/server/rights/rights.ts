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

/** What one grant gives: its roles and its payload right count for the consumers of its scope only. */
export interface Right {
  readonly roles: readonly Role[]
  /** Null: every consumer. */
  readonly scope: Scope | null
  readonly payload: PayloadRight
}

/** The grants of a person, kept apart: one grant never widens what another gives. */
export type Rights = readonly Right[]

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
  return matching.map(grant => ({
    roles: grant.roles,
    scope: grant.scope ?? null,
    payload: grant.payload ?? most(grant.roles.map(role => payloadOfRole[role])),
  }))
}

export const everything: Rights = [{ roles, scope: null, payload: 'full' }]

/** Every role may do what a viewer may; an admin may do everything. */
export function hasRole(rights: Pick<Right, 'roles'>, role: Role): boolean {
  return role === 'viewer' || rights.roles.includes(role) || rights.roles.includes('admin')
}

export function inScope(scope: Scope | null, consumer: { readonly name: string; readonly owner: string }) {
  if (scope === null) return true
  return (scope.consumers ?? []).includes(consumer.name) || (scope.owners ?? []).includes(consumer.owner)
}

/** The highest of these rights. */
export function most(payloads: readonly PayloadRight[]): PayloadRight {
  return payloadOrder[Math.max(0, ...payloads.map(payload => payloadOrder.indexOf(payload)))]!
}
