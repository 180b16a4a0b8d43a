import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { PreparedPlace } from './place.ts'

export const docs = fileURLToPath(new URL('../docs/', import.meta.url))

/** Replaces a measured part of docs/benchmarks.md. The words around it are written by hand. */
export function replacePart(part: 'peers' | 'curves', content: string): void {
  const page = `${docs}benchmarks.md`
  const begin = `<!-- ${part}: written by npm run bench -- --only ${part} --write-docs -->`
  const end = `<!-- /${part} -->`
  const [before, rest] = readFileSync(page, 'utf8').split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`${page} has no part for the ${part}`)
  writeFileSync(page, [before, begin, '\n\n', content, end, after].join(''))
}

export async function machineLine({ pool }: PreparedPlace, rounds: number): Promise<string> {
  const { rows } = await pool.query("select current_setting('server_version') as version")
  const model = cpus()[0]?.model.trim() ?? 'unknown processor'
  const memory = Math.round(totalmem() / 2 ** 30)
  const day = new Date().toISOString().slice(0, 10)
  return `Measured on ${day}: ${cpus().length} × ${model}, ${memory} GiB, Node ${process.versions.node},
PostgreSQL ${rows[0].version} with fsync on. Medians of ${rounds} rounds.
`
}
