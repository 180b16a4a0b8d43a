import { writeFileSync } from 'node:fs'
import { checksPage } from '../packages/onceward/src/check/page.ts'
import { checklistsPage } from '../packages/onceward/test/check/checklists-page.ts'

/** Writes docs/checks.md and docs/checklists.md from the rules and the list of questions. The tests compare them. */
const docs = new URL('../docs/', import.meta.url)
writeFileSync(new URL('checks.md', docs), checksPage())
writeFileSync(new URL('checklists.md', docs), checklistsPage())
