import { first } from './004-first.ts'
import { second } from './004-second.ts'
import type { RequirementsOf } from './requirement.ts'

export const requirements004: RequirementsOf = { ...first, ...second }
