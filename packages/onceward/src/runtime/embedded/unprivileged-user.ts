import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, lchownSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** PostgreSQL refuses to run as root, so under root its processes run as an unprivileged user. */
export type UnprivilegedUser = { uid: number; gid: number }

export function unprivilegedUser(): UnprivilegedUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  try {
    const ask = (flag: string) => Number(execFileSync('id', [flag, 'nobody']).toString()) >>> 0
    return { uid: ask('-u'), gid: ask('-g') }
  } catch (cause) {
    throw new Error(
      'PostgreSQL refuses to run as root and this system has no user "nobody" to run it as. Nothing was started. ' +
        'Run as an ordinary user, or create that user.',
      { cause },
    )
  }
}

function mayEnter(folder: string, user: UnprivilegedUser): boolean {
  const { mode, uid, gid } = statSync(folder)
  if (uid === user.uid) return (mode & 0o100) !== 0
  if (gid === user.gid) return (mode & 0o010) !== 0
  return (mode & 0o001) !== 0
}

/**
 * True when the user can walk from the root to this path; the missing tail of the path is judged by us
 * creating it.
 */
export function canReach(path: string, user: UnprivilegedUser): boolean {
  let folder = resolve(path)
  while (!existsSync(folder)) folder = dirname(folder)
  folder = realpathSync(folder)
  for (;;) {
    if (statSync(folder).isDirectory() && !mayEnter(folder, user)) return false
    if (folder === dirname(folder)) return true
    folder = dirname(folder)
  }
}

/**
 * The folder itself where the server may live in it, else a fixed substitute under /var/lib named after the
 * wanted path, so that the next start finds the same data. (A root shell's home is mode 0700.)
 */
export function reachableFolder(path: string, user: UnprivilegedUser | undefined, kind = 'postgres'): string {
  const wanted = resolve(path)
  if (!user || canReach(dirname(wanted), user)) return wanted
  const digest = createHash('sha256').update(wanted).digest('hex').slice(0, 12)
  return join('/var/lib/onceward', `${kind}-${digest}`)
}

export function makeOwnedFolder(path: string, user: UnprivilegedUser | undefined): void {
  // The parents are made traversable and ours; only the last folder belongs to the server.
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 })
  mkdirSync(path, { mode: 0o700 })
  if (user) lchownSync(path, user.uid, user.gid)
}
