import { requirements000 } from './000.ts'
import { requirements001 } from './001.ts'
import { requirements003 } from './003.ts'
import { requirements004 } from './004.ts'
import type { RequirementsOf } from './requirement.ts'
import type { SourceDocument } from './sections.ts'

export const requirements: Readonly<Record<SourceDocument['id'], RequirementsOf>> = {
  '000': requirements000,
  '001': requirements001,
  '003': requirements003,
  '004': requirements004,
}
