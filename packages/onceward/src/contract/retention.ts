import type { ConsumerContract, Risk } from './contract.ts'
import { type DefaultedIn, resolved, withDefaults } from './options/defaults.ts'
import { contractOptions, type OptionTable } from './options/table.ts'
import type { RetentionSection } from './upkeep-sections.ts'

/**
 * The retention of a contract with all defaults applied, in milliseconds. Null for an option without a
 * default: dead letters are never removed, the source reports how long it keeps messages, markers are in one
 * table.
 */
export type Retention = {
  readonly [K in keyof RetentionSection]-?: K extends DefaultedIn<'retention'>
    ? Resolved<RetentionSection[K]>
    : Resolved<RetentionSection[K]> | null
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
  return Object.fromEntries(entries) as Retention
}
