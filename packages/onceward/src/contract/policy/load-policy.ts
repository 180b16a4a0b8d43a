import { type FileHandle, open, stat } from 'node:fs/promises'
import { relative, sep } from 'node:path'
import { OncewardError } from '../../errors.ts'
import type { Policy } from './read-policy.ts'

export const policyFileName = 'onceward.yaml'

/**
 * Reads a policy file from disk, up to the largest size of a policy. `withPolicy` reports all of its
 * problems.
 */
export async function loadPolicy(path: string, shownAs = path): Promise<Policy> {
  // Loaded only with a policy: the YAML parser is a seventh of the modules of a process without one.
  const [{ policyBytesMax }, { readPolicy }] = await Promise.all([
    import('./parse-yaml.ts'),
    import('./read-policy.ts'),
  ])
  return readPolicy(await firstBytes(path, policyBytesMax + 1), shownAs)
}

async function firstBytes(path: string, bytes: number): Promise<Uint8Array> {
  try {
    // Checked before it is opened: opening a pipe waits for its writer.
    if (!(await stat(path)).isFile()) throw new Error('it is not a regular file')
    const file = await open(path)
    return await upTo(bytes, file).finally(() => file.close())
  } catch (cause) {
    const why = (cause as { code?: string }).code ?? (cause as Error).message
    throw new OncewardError('usage', `The policy file ${path} cannot be read: ${why}. Nothing was started.`, {
      cause,
    })
  }
}

async function upTo(bytes: number, file: FileHandle): Promise<Uint8Array> {
  const buffer = new Uint8Array(bytes)
  let length = 0
  while (length < bytes) {
    const { bytesRead } = await file.read(buffer, length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return buffer.subarray(0, length)
}

/** The path relative to the folder, if that is shorter. */
export function shownPath(path: string, folder: string): string {
  const short = relative(folder, path)
  return short.startsWith(`..${sep}`) || short === '' ? path : short
}
