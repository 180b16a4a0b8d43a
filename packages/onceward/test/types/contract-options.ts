/**
 * The hand-written types of a contract and the table of its options say the same. Proven by the compiler:
 * nothing here is run. Where they disagree, the error names each option and what is wrong with it.
 */
import type { BatchSection } from '../../src/contract/contract.ts'
import type {
  CustomTarget,
  EmailTarget,
  HttpTarget,
  WebhookTarget,
} from '../../src/contract/external-target.ts'
import type { RecordKind, SectionKind, ValueCheck } from '../../src/contract/options/kind.ts'
import type { ComputedDefault, Option } from '../../src/contract/options/option.ts'
import type { OptionPath, SectionTypes, ValueAt } from '../../src/contract/options/section-types.ts'
import type { ListedOption } from '../../src/contract/options/table.ts'
import type { TopicDeclaration } from '../../src/drivers/kafka/topic.ts'
import type { PostgresQueue } from '../../src/drivers/postgres/queue/declaration.ts'
import type { QueueDeclaration } from '../../src/drivers/rabbitmq/declaration.ts'
import type { StreamDeclaration } from '../../src/drivers/rabbitmq-stream/stream.ts'

/**
 * Has nothing to answer for; a disagreement is a property that is missing here, and its name says what to do.
 */
export const proof: Proof = {}

type Proof = Record<Disagreements<SectionTypes, ListedOption>, never>

type Disagreements<Sections, Entry extends Option> =
  | NoEntry<Exclude<OptionPath<Sections>, Entry['path']>>
  | EntryDisagreements<Sections, Entry>
  | VariantDisagreements<Entry>
  | (string extends Entry['path']
      ? 'a list of options has lost its paths: leave its type to be inferred'
      : never)

type NoEntry<P> = P extends string ? `${P} has a type and no entry in the table of options` : never

type EntryDisagreements<Sections, Entry> = Entry extends Option
  ? Entry extends { readonly fileOnly: unknown }
    ? never
    : IsKnown<Sections, Entry['path']> extends true
      ? WrongDefault<Sections, Entry> | WrongKind<Sections, Entry>
      : `${Entry['path']} has an entry in the table of options and no type`
  : never

/**
 * A name people choose belongs to the option above it, and what is said of a source to one of the
 * declarations.
 */
type IsKnown<Sections, P extends string> =
  P extends OptionPath<Sections>
    ? true
    : P extends `${infer Holder}.*`
      ? IsKnown<Sections, Holder>
      : P extends `source.${infer Field}`
        ? IsSourceField<Field>
        : false

type Declared = TopicDeclaration | QueueDeclaration | StreamDeclaration | PostgresQueue
type IsSourceField<F extends string> = F extends `${infer Field}.${string}`
  ? IsSourceField<Field>
  : F extends KeysOf<Declared>
    ? true
    : false
type KeysOf<U> = U extends unknown ? keyof U : never

type WrongDefault<Sections, Entry extends Option> = Entry extends { readonly default: infer D }
  ? [D extends ComputedDefault<infer T> ? T : D] extends [ValueAt<Entry['path'], Sections>]
    ? never
    : `the default of ${Entry['path']} does not fit its type`
  : never

/** Each way: every value of the type is accepted, and every value that is accepted is of the type. */
type WrongKind<Sections, Entry extends Option> = Entry['kind'] extends SectionKind | RecordKind
  ? never
  : Entry['kind'] extends ValueCheck<infer T>
    ? Entry['path'] extends OptionPath<Sections>
      ? [T, ValueAt<Entry['path'], Sections>] extends [ValueAt<Entry['path'], Sections>, T]
        ? never
        : `the kind of ${Entry['path']} does not fit its type`
      : never
    : never

interface Variants {
  http: HttpTarget
  webhook: WebhookTarget
  email: EmailTarget
  custom: CustomTarget
}

/** Each kind of external target has its own fields and those of all. */
type VariantDisagreements<Entry extends Option> = {
  [V in keyof Variants]:
    | NoVariantEntry<V, Exclude<keyof Variants[V], FieldOf<V, Entry>>>
    | NoVariantType<V, Exclude<FieldOf<V, Entry>, keyof Variants[V]>>
}[keyof Variants]
type NoVariantEntry<V extends string, K> = K extends string
  ? `effect.external.*.${K} has a type and no entry for ${V} targets`
  : never
type NoVariantType<V extends string, K> = K extends string
  ? `effect.external.*.${K} has an entry for ${V} targets and no type`
  : never
type FieldOf<V, Entry> = Entry extends { readonly path: `effect.external.*.${infer K}` }
  ? K extends `${string}.${string}`
    ? never
    : Entry extends { readonly onlyFor: readonly (infer O)[] }
      ? V extends O
        ? K
        : never
      : K
  : never

/** That the proof can fail, and in which words. */
type WithColour = Omit<SectionTypes, 'batch'> & { batch: BatchSection & { colour?: 'red' | 'blue' } }
type Colour = Option<'batch.colour', ValueCheck<'red' | 'blue'>>
type Sized<D> = Option<'batch.sizeMax', ValueCheck<number>> & { readonly default: D }
type TextSize = Option<'batch.sizeMax', ValueCheck<string>>
type FaxOfCustom = Option<'effect.external.*.fax', ValueCheck<string>> & {
  readonly onlyFor: readonly ['custom']
}

export const agreed: Record<Disagreements<WithColour, ListedOption | Colour>, never> = {}
export const missing: Disagreements<WithColour, ListedOption> =
  'batch.colour has a type and no entry in the table of options'
export const surplus: Disagreements<SectionTypes, ListedOption | Colour> =
  'batch.colour has an entry in the table of options and no type'
export const untyped: Disagreements<SectionTypes, Option> =
  'a list of options has lost its paths: leave its type to be inferred'
export const wrongDefault: Disagreements<SectionTypes, ListedOption | Sized<'many'>> =
  'the default of batch.sizeMax does not fit its type'
export const wrongKind: Disagreements<SectionTypes, ListedOption | TextSize> =
  'the kind of batch.sizeMax does not fit its type'
export const wrongVariant: Disagreements<SectionTypes, ListedOption | FaxOfCustom> =
  'effect.external.*.fax has an entry for custom targets and no type'
