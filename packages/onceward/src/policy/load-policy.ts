import { type FileHandle, open, stat } from 'node:fs/promises'
import { relative, sep } from 'node:path'
import { OncewardError } from '../errors.ts'
import { policyBytesMax } from './parse-yaml.ts'
import { type Policy, readPolicy } from './read-policy.ts'

export const policyFileName = 'onceward.yaml'

/** Reads a policy file from disk, no more of it than a policy can have. What is wrong with it is told by `withPolicy`, all at once. */
export async function loadPolicy(path: string, shownAs = path): Promise<Policy> {
  return readPolicy(await firstBytes(path), shownAs)
}

async function firstBytes(path: string): Promise<Uint8Array> {
  try {
    // Asked before it is opened: opening a pipe waits for its writer.
    if (!(await stat(path)).isFile()) throw new Error('it is no regular file')
    const file = await open(path)
    return await upTo(policyBytesMax + 1, file).finally(() => file.close())
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

/** A path as people type it, where that is shorter. */
export function shownPath(path: string, folder: string): string {
  const short = relative(folder, path)
  return short.startsWith(`..${sep}`) || short === '' ? path : short
}
