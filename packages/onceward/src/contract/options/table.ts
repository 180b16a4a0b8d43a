import { batchOptions } from './batch-and-inbox.ts'
import { consumerOptions } from './consumer.ts'
import { effectOptions, publishOptions } from './effect.ts'
import { evidenceOptions } from './evidence.ts'
import { externalOptions } from './external-target.ts'
import { failureOptions } from './failure.ts'
import { identityOptions } from './identity.ts'
import { messageOptions } from './message.ts'
import { objectivesOptions } from './objectives.ts'
import type { Option } from './option.ts'
import { orderOptions } from './order-and-settle.ts'
import { replayOptions } from './replay.ts'
import { retentionOptions } from './retention.ts'
import { sourceOptions } from './source.ts'

/**
 * Every option of a contract, in the order of the reference. The known names, the checks of single values,
 * the defaults, the keys of the policy file, its JSON Schema and the reference derive from this table.
 * `contract/*-problems.ts` checks combinations of options.
 */
export const listedOptions = [
  ...consumerOptions,
  ...identityOptions,
  ...orderOptions,
  ...messageOptions,
  ...batchOptions,
  ...replayOptions,
  ...failureOptions,
  ...effectOptions,
  ...externalOptions,
  ...publishOptions,
  ...sourceOptions,
  ...evidenceOptions,
  ...retentionOptions,
  ...objectivesOptions,
]

export type ListedOption = (typeof listedOptions)[number]

/** An option and its name within its section. */
export interface NamedOption {
  readonly name: string
  readonly option: Option
}

/** The options by path and by section. */
export class OptionTable {
  readonly options: readonly Option[]
  readonly #byPath: ReadonlyMap<string, Option>
  readonly #bySection: ReadonlyMap<string, readonly NamedOption[]>

  constructor(options: readonly Option[]) {
    this.options = options
    this.#byPath = new Map(options.map(option => [option.path, option]))
    const named = options
      .filter(option => option.fileOnly === undefined)
      .map(option => ({ option, ...placeOf(option.path) }))
    this.#bySection = Map.groupBy(named, ({ section }) => section)
  }

  find(path: string): Option | undefined {
    return this.#byPath.get(path)
  }

  at(path: string): Option {
    const option = this.find(path)
    if (option === undefined) throw new Error(`The table of options has no entry "${path}".`)
    return option
  }

  /**
   * The options directly below a section ('' is the contract), restricted to one variant if the section has
   * variants.
   */
  below(section: string, variant?: string): readonly NamedOption[] {
    const options = this.#bySection.get(section) ?? []
    return options.filter(
      ({ option: { onlyFor } }) =>
        onlyFor === undefined || variant === undefined || onlyFor.includes(variant),
    )
  }

  /** The variant of its section that a value has; undefined if the section has no variants. */
  variantOf(section: string, value: object | undefined): string | undefined {
    const kind = this.find(section)?.kind
    if (kind?.holds !== 'section' || kind.variants === undefined) return undefined
    const { by, fallback } = kind.variants
    return (value as Record<string, string | undefined> | undefined)?.[by] ?? fallback
  }

  names(section: string, variant?: string): readonly string[] {
    return this.below(section, variant).map(({ name }) => name)
  }
}

/** `batch.sizeMax` is `sizeMax` of the section `batch`. */
export function placeOf(path: string): { readonly section: string; readonly name: string } {
  const dot = path.lastIndexOf('.')
  return { section: path.slice(0, Math.max(0, dot)), name: path.slice(dot + 1) }
}

export const contractOptions = new OptionTable(listedOptions)
