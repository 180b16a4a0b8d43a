import { first } from './001-first.ts'
import { second } from './001-second.ts'
import type { RequirementsOf } from './requirement.ts'

export const requirements001: RequirementsOf = { ...first, ...second }
