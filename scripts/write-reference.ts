import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { docs, referencePages } from './reference/pages.ts'

mkdirSync(join(docs, 'reference'), { recursive: true })
for (const [path, text] of Object.entries(referencePages())) {
  writeFileSync(join(docs, path), text)
  console.log(`wrote docs/${path}`)
}
