import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { apiReports, publicApi } from './api/report.ts'
import { docs, referencePages } from './reference/pages.ts'

const root = dirname(docs)
const home = join(root, 'packages', 'onceward')

mkdirSync(join(docs, 'reference'), { recursive: true })
for (const [path, text] of Object.entries(referencePages())) {
  writeFileSync(join(docs, path), text)
  console.log(`wrote docs/${path}`)
}
mkdirSync(join(home, 'api'), { recursive: true })
for (const [path, text] of Object.entries(apiReports(publicApi(root)))) {
  writeFileSync(join(home, path), text)
  console.log(`wrote packages/onceward/${path}`)
}
