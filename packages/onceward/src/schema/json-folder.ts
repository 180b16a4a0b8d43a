import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Values on disk, a file for each. A file appears whole or not at all: it is written beside its place, synced
 * and renamed. A file that is not what was written is ignored.
 */
export class JsonFolder {
  readonly #folder: string

  constructor(folder: string, registry: string) {
    this.#folder = join(folder, createHash('sha256').update(registry).digest('hex').slice(0, 16))
  }

  /** Null if there is no file, or none that can be trusted. */
  async read(key: string): Promise<unknown> {
    try {
      const { digest, value } = JSON.parse(await readFile(this.#path(key), 'utf8'))
      return digest === digestOf(key, value) ? value : null
    } catch {
      return null
    }
  }

  /** Errors are not reported: a full disk or a missing right costs the next start a request. */
  async write(key: string, value: unknown): Promise<void> {
    const path = this.#path(key)
    const beside = `${path}.${randomUUID()}`
    try {
      await mkdir(this.#folder, { recursive: true })
      const file = await open(beside, 'wx')
      try {
        await file.writeFile(JSON.stringify({ digest: digestOf(key, value), value }))
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(beside, path)
    } catch {
      await rm(beside, { force: true }).catch(() => {})
    }
  }

  #path(key: string): string {
    return join(this.#folder, `${key.replaceAll(/[^\w.-]/g, '-')}.json`)
  }
}

function digestOf(key: string, value: unknown): string {
  return createHash('sha256')
    .update(`${key}\n${JSON.stringify(value)}`)
    .digest('hex')
}
