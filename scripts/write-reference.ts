import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { referencePages } from './reference/pages.ts'

const folder = join(dirname(dirname(fileURLToPath(import.meta.url))), 'docs', 'reference')

mkdirSync(folder, { recursive: true })
for (const [name, text] of Object.entries(referencePages())) {
  writeFileSync(join(folder, name), text)
  console.log(`wrote docs/reference/${name}`)
}
