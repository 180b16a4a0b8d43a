import { stringify } from 'yaml'
import type { RuleGroup } from './alert-rules.ts'

const head =
  '# Written by "onceward alerts" from consumer contracts. Change the contracts and write it again.\n'

/** Every text is in double quotes, so that YAML reads none as a number, a date or an anchor. */
export function rulesYaml(groups: readonly RuleGroup[]): string {
  return (
    head +
    stringify(
      { groups },
      {
        defaultStringType: 'QUOTE_DOUBLE',
        defaultKeyType: 'PLAIN',
        lineWidth: 0,
        aliasDuplicateObjects: false,
      },
    )
  )
}
