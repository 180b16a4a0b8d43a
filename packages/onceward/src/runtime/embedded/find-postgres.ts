import { realpathSync } from 'node:fs'
import { findPostmaster, isDataFolder, readPassword } from './data-folder.ts'
import { reachableFolder, unprivilegedUser } from './unprivileged-user.ts'

/** The server that runs on a data folder, or null. Starts and creates nothing. */
export async function findEmbeddedPostgres(dataDir: string): Promise<{ url: string; port: number } | null> {
  const folder = reachableFolder(dataDir, unprivilegedUser())
  if (!isDataFolder(folder)) return null
  const place = realpathSync(folder)
  const running = findPostmaster(place)
  if (running === undefined) return null
  return { url: embeddedUrl(place, running.port), port: running.port }
}

export function embeddedUrl(dataDir: string, port: number): string {
  return `postgres://postgres:${readPassword(dataDir)}@127.0.0.1:${port}/postgres`
}
