import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { OncewardError } from '../../errors.ts'
import type { InitOrm } from './orm-text.ts'

/** What `package.json` of an existing project says. */
export interface ExistingProject {
  /** Its `.ts` files are ES modules; otherwise new files are named `.mts`. */
  readonly isModule: boolean
  /** The library that it has already, if it is one with a store. */
  readonly orm: InitOrm
  readonly dependencies: ReadonlySet<string>
}

/** Null for a folder without a project. */
export function existingProject(folder: string): ExistingProject | null {
  const file = join(folder, 'package.json')
  if (!existsSync(file)) return null
  const { type, dependencies, devDependencies } = read(file)
  const names = new Set(Object.keys({ ...dependencies, ...devDependencies }))
  const orm = names.has('kysely')
    ? 'kysely'
    : names.has('drizzle-orm')
      ? 'drizzle'
      : names.has('knex')
        ? 'knex'
        : 'none'
  return { isModule: type === 'module', orm, dependencies: names }
}

/** Files at the root of a new project that an existing one has in its own way. */
const ofNewProjects = ['package.json', 'README.md', '.gitignore', '.dockerignore', '.onceward/embedded']

/**
 * The files of a new project, in a folder of their own inside an existing one: nothing of it is changed. In a
 * CommonJS project their names end in `.mts`, because Node reads its `.ts` files as CommonJS.
 */
export function joinedFiles(
  files: Readonly<Record<string, string>>,
  folder: string,
  isModule: boolean,
): Record<string, string> {
  const rename = (text: string) => (isModule ? text : text.replaceAll(/(?<=[\w-])\.ts\b/g, '.mts'))
  const own = Object.entries(files).filter(([name]) => !ofNewProjects.includes(name))
  return Object.fromEntries(
    own.map(([name, text]) => [
      join(folder, rename(name)),
      rename(text).replace('./node_modules/onceward/', '../node_modules/onceward/'),
    ]),
  )
}

interface Manifest {
  readonly type?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

function read(file: string): Manifest {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Manifest
  } catch (cause) {
    throw new OncewardError('usage', `${file} is not JSON. Nothing was written.`, { cause })
  }
}
