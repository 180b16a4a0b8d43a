import type { Risk } from './contract.ts'
import { type DefaultedIn, resolved, withDefaults } from './options/defaults.ts'
import { contractOptions, type OptionTable } from './options/table.ts'
import type { RetentionSection } from './upkeep-sections.ts'

/**
 * A contract's retention with everything decided, in milliseconds. Null where the contract leaves something
 * open: dead letters are never removed, the source is asked how long it keeps, markers lie in one table.
 */
export type Retention = {
  readonly [K in keyof RetentionSection]-?: K extends DefaultedIn<'retention'>
    ? Resolved<RetentionSection[K]>
    : Resolved<RetentionSection[K]> | null
}

type Resolved<T> = number extends T ? number : Exclude<T, undefined>

/** How far the database's date may be from ours, or from where it should be, before nothing is removed. */
export const clockToleranceMs = 3_600_000

/** Applies the defaults. Pure; every duration can be read already. */
export function resolveRetention(
  retention: RetentionSection,
  risk: Risk,
  table: OptionTable = contractOptions,
): Retention {
  const values = withDefaults('retention', retention, { risk, retention }, table)
  const entries = resolved('retention', values, table).map(({ name, value }) => [name, value])
  return Object.fromEntries(entries) as Retention
}
