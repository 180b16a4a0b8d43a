import { existsSync, globSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { whileLocked } from '../services/cache-folders.ts'
import { buildPages } from './build-console.ts'

const home = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), ...['packages', 'console'])
const built = join(home, 'dist', 'web', 'index.html')

// What the pages import from the library too.
const sources = ['src/web/**/*.{ts,tsx,css,html}', '../onceward/src/operations/parking/json-layout.ts']

/** Other processes use the built pages at the same time, so they are built again only after a change. */
function isFresh(): boolean {
  if (!existsSync(built)) return false
  const builtMs = statSync(built).mtimeMs
  return globSync(sources, { cwd: home }).every(file => statSync(join(home, file)).mtimeMs < builtMs)
}

/** Builds the pages of the console if they are older than their sources. */
export async function ensurePages(): Promise<void> {
  await whileLocked(
    'console-pages',
    () => {},
    async () => {
      if (!isFresh() && buildPages() !== 0) throw new Error('Vite could not build the pages.')
    },
  )
}
