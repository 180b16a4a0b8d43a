import { type DefaultedIn, resolved, withDefaults } from './options/defaults.ts'
import { contractOptions, type OptionTable } from './options/table.ts'
import type { ObjectivesSection } from './upkeep-sections.ts'

/**
 * The objectives of a contract with all defaults applied; durations in milliseconds. `idleMaxMs` null:
 * compared with the day before.
 */
export type Objectives = {
  readonly [K in keyof ObjectivesSection as InMs<K>]-?: K extends DefaultedIn<'objectives'>
    ? number
    : number | null
}

type InMs<K extends keyof ObjectivesSection> = string extends ObjectivesSection[K] ? `${K}Ms` : K

/** Applies the defaults. Pure; every value is already validated. */
export function resolveObjectives(
  contract: { readonly objectives?: ObjectivesSection },
  table: OptionTable = contractOptions,
): Objectives {
  const values = withDefaults('objectives', contract.objectives, contract, table)
  const entries = resolved('objectives', values, table).map(({ name, value, isDuration }) => [
    isDuration ? `${name}Ms` : name,
    value,
  ])
  return Object.fromEntries(entries) as Objectives
}
