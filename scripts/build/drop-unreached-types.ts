import { existsSync, globSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { doorsOf } from './doors.ts'

/**
 * Removes declarations that no entry point of the package exports: they cannot be imported, and constants with SQL
 * stand in them a second time. Gives the number of files.
 */
export function dropUnreachedTypes(home: string): number {
  const reached = new Set(doorsOf(home).map(({ name }) => join(home, 'dist', `${name}.d.ts`)))
  for (const file of reached) for (const next of importsOf(file)) reached.add(next)
  const unreached = globSync('dist/**/*.d.ts', { cwd: home })
    .map(file => join(home, file))
    .filter(file => !reached.has(file))
  for (const file of unreached) rmSync(file)
  return unreached.length
}

/**
 * Imports, re-exports and types that are named where they are used, all with relative paths that end in .ts
 * or .js.
 */
function importsOf(file: string): string[] {
  const found = readFileSync(file, 'utf8').matchAll(/(?:\bfrom |\bimport ?\(|\bimport )(["'])(\.[^"']+)\1/g)
  return [...found].map(([, , path]) => {
    const target = join(file, '..', path!.replace(/\.[jt]s$/, '.d.ts'))
    if (!existsSync(target)) throw new Error(`${file} names ${path}, which was not built`)
    return target
  })
}
