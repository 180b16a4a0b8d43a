import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { policySchema } from './reference/json-schema.ts'

const file = join(import.meta.dirname, '../packages/onceward/policy.schema.json')
writeFileSync(file, `${JSON.stringify(policySchema())}\n`)
console.log('wrote packages/onceward/policy.schema.json')
