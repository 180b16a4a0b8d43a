import type { ConsumerContract, Risk } from './contract.ts'
import { durationMs } from './duration.ts'
import { type DefaultedIn, resolved, withDefaults } from './options/defaults.ts'
import { contractOptions, type OptionTable } from './options/table.ts'
import type { RetentionSection } from './upkeep-sections.ts'

/**
 * The retention of a contract with all defaults applied, in milliseconds. Null for an option without a
 * default: dead letters are never removed, the source reports how long it keeps messages, markers are in one
 * table.
 */
export type Retention = {
  readonly [K in Exclude<keyof RetentionSection, 'tenants'>]-?: K extends DefaultedIn<'retention'>
    ? Resolved<RetentionSection[K]>
    : Resolved<RetentionSection[K]> | null
} & {
  /** Null when no tenant has a term of its own. */
  readonly tenants: Readonly<Record<string, number>> | null
}

type Resolved<T> = number extends T ? number : Exclude<T, undefined>

/** How far the database's clock may differ from ours, or from its expected value, before removal stops. */
export const clockToleranceMs = 3_600_000

/** Applies the defaults. Pure; every duration is already validated. */
export function resolveRetention(
  retention: RetentionSection,
  risk: Risk,
  effect?: ConsumerContract['effect'],
  table: OptionTable = contractOptions,
): Retention {
  const values = withDefaults('retention', retention, { risk, retention, ...(effect && { effect }) }, table)
  const entries = resolved('retention', values, table).map(({ name, value }) => [name, value])
  const tenants = Object.entries(retention.tenants ?? {}).map(([name, term]) => [name, durationMs(term)])
  const own = tenants.length === 0 ? null : Object.fromEntries(tenants)
  return { ...Object.fromEntries(entries), tenants: own } as Retention
}

/** The shortest time that a marker of any tenant is kept. */
export function shortestMarkersMs({ markers, tenants }: Pick<Retention, 'markers' | 'tenants'>): number {
  return Math.min(markers, ...Object.values(tenants ?? {}))
}
