import { first } from './000-first.ts'
import { second } from './000-second.ts'
import type { RequirementsOf } from './requirement.ts'

export const requirements000: RequirementsOf = { ...first, ...second }
