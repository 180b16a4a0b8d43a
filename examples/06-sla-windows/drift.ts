import { createPool } from 'onceward/postgres'
import { slaHours } from './sla-windows.ts'

/** Recounts every fact and prints the hours that differ, which should be none. */
const pool = createPool(process.env.ONCEWARD_DATABASE_URL!, { max: 1 })
const found = await slaHours.drift(async (text, values) => {
  const { rows, rowCount } = await pool.query(text, values as unknown[])
  return { rows, rowCount: rowCount ?? 0 }
})
await pool.end()
console.log(found.length === 0 ? 'the summary is exactly what the facts say' : JSON.stringify(found, null, 2))
process.exitCode = found.length === 0 ? 0 : 1
