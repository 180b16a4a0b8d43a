import { first } from './003-first.ts'
import { second } from './003-second.ts'
import type { RequirementsOf } from './requirement.ts'

export const requirements003: RequirementsOf = { ...first, ...second }
