import type { Option } from '../../options/option.ts'
import { contractOptions, type OptionTable, placeOf } from '../../options/table.ts'
import { defaultSentence } from './default-sentence.ts'
import type { PolicyKey } from './policy-key.ts'

/**
 * Every key that a consumer, a source and the defaults may have: the options of a contract that are plain
 * data.
 */
export const policyKeys: readonly PolicyKey[] = policyKeysOf(contractOptions)

export function policyKeysOf(table: OptionTable): readonly PolicyKey[] {
  return table.options.flatMap(option => {
    const key = keyOf(option)
    if (key === null) return []
    const { section, name } = placeOf(option.path)
    const holder = section === '' || name === '*' ? null : (table.find(section)?.kind ?? null)
    const isShorthand = holder?.holds === 'section' && holder.shorthand === name
    return [
      {
        ...option.kind.inFile!,
        key,
        at: option.fileOnly === true ? null : (option.fileOnly ?? option.path),
        description: `${option.description}${defaultSentence(option)}`,
        ...(isShorthand && { isShorthand }),
      },
    ]
  })
}

/** Contract keys that a policy file does not have, and what to use instead. */
export function setElsewhere(table: OptionTable): ReadonlyMap<string, string> {
  const listed = table.options.filter(option => option.elsewhere !== undefined)
  return new Map(
    listed.flatMap(option =>
      [option.path, withoutUnit(option.path)].map(path => [path, option.elsewhere!] as const),
    ),
  )
}

function keyOf({ kind, policyKey, path }: Option): string | null {
  if (kind.inFile === null || policyKey === null) return null
  return policyKey ?? (kind.inFile.kind === 'duration' ? withoutUnit(path) : path)
}

/** Names in a contract end in `Ms`; a policy file writes the unit beside the number instead. */
function withoutUnit(path: string): string {
  return path.replace(/Ms$/, '')
}
