import { lstat, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { OncewardError } from '../../errors.ts'

/** Writes all new files into a folder, or none: existing files are never changed. */
export async function writeProject(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  const there: string[] = []
  for (const name of Object.keys(files)) if (await exists(join(folder, name))) there.push(name)
  if (there.length > 0) throw refused(folder, there)
  await mkdir(folder, { recursive: true })
  const written: string[] = []
  try {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true })
      await writeFile(join(folder, name), text, { flag: 'wx' })
      written.push(name)
    }
  } catch (cause) {
    for (const name of written) await rm(join(folder, name), { force: true })
    if ((cause as { code?: string }).code === 'EEXIST') throw refused(folder, ['one of its files'], cause)
    throw cause
  }
}

/** Also true for a dangling link: writing through it would create a file elsewhere. */
function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

function refused(folder: string, there: readonly string[], cause?: unknown): OncewardError {
  return new OncewardError(
    'usage',
    `${folder} has ${there.join(', ')} already, and nothing is overwritten. Choose another folder, as in "onceward init parcels". Nothing was written.`,
    { cause },
  )
}
