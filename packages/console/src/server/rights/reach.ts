import { hasRole, inScope, most, type PayloadRight, type Right, type Rights, type Role } from './rights.ts'

interface ReachingRight extends Right {
  /** Undefined: every consumer. */
  readonly consumers: ReadonlySet<string> | undefined
}

/** Names of consumers; undefined for all. */
export type Consumers = readonly string[] | undefined

/** What a person may do with each consumer. Each grant is asked alone. */
export class Reach {
  readonly #rights: readonly ReachingRight[]
  /** The consumers that the person sees. */
  readonly visible: Consumers
  /** The consumers whose payloads the person sees whole. */
  readonly readable: Consumers

  constructor(rights: Rights, consumers: readonly { readonly name: string; readonly owner: string }[]) {
    this.#rights = rights.map(right => ({ ...right, consumers: namesIn(right, consumers) }))
    this.visible = together(this.#rights)
    this.readable = together(this.#rights.filter(({ payload }) => payload === 'full'))
  }

  sees(consumer: string): boolean {
    return this.visible?.includes(consumer) ?? true
  }

  mayAct(role: Role, consumer: string): boolean {
    return this.#on(consumer).some(right => hasRole(right, role))
  }

  /** On what concerns no consumer, only rights without a scope count. */
  mayActEverywhere(role: Role): boolean {
    return this.#rights.some(right => right.consumers === undefined && hasRole(right, role))
  }

  payloadFor(consumer: string): PayloadRight {
    return most(this.#on(consumer).map(({ payload }) => payload))
  }

  #on(consumer: string): readonly ReachingRight[] {
    return this.#rights.filter(({ consumers }) => consumers?.has(consumer) ?? true)
  }
}

function namesIn(
  { scope }: Right,
  consumers: readonly { readonly name: string; readonly owner: string }[],
): ReadonlySet<string> | undefined {
  if (scope === null) return undefined
  return new Set(consumers.filter(one => inScope(scope, one)).map(({ name }) => name))
}

function together(rights: readonly ReachingRight[]): Consumers {
  if (rights.some(({ consumers }) => consumers === undefined)) return undefined
  return [...new Set(rights.flatMap(({ consumers }) => [...consumers!]))]
}
