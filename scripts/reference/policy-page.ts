import { keyReference } from './key-reference.ts'
import { page, table } from './markdown.ts'

export function policyPage(): string {
  return page(
    'Keys of the policy file',
    'What may stand below `defaults`, `sources.<name>` and `consumers.<name>` of `onceward.yaml`. How these are put together, waivers and secrets: [the policy file](../policy.md). Editors\n' +
      'complete the same keys from `policy.schema.json`.',
    table(
      ['key', 'values', 'meaning'],
      keyReference().map(({ key, values, description }) => [`\`${key}\``, values, description]),
    ),
  )
}
