import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { doorsOf } from '../build/doors.ts'
import { type Declaration, declarationsOf } from './declarations.ts'
import { emitDeclarations } from './emit-declarations.ts'

/** What each door of the package exports, by door. */
export function publicApi(root: string): ReadonlyMap<string, readonly Declaration[]> {
  const folder = emitDeclarations(root)
  try {
    const doors = doorsOf(join(root, 'packages', 'onceward'))
    return new Map(doors.map(({ name }) => [name, declarationsOf(join(folder, `${name}.d.ts`))]))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The report of a door, as a text. A change of it is a change of what users compile against. */
export function reportText(declarations: readonly Declaration[]): string {
  return declarations.map(({ comment, code }) => `${comment}\n${code}\n`.trimStart()).join('\n')
}

/** The reports of all doors, by their files below the package's folder. */
export function apiReports(api: ReadonlyMap<string, readonly Declaration[]>): Record<string, string> {
  const reports = [...api].map(([door, all]) => [reportFile(door), reportText(all)])
  return Object.fromEntries(reports) as Record<string, string>
}

/** Where the report of a door is kept, below the package's folder. */
function reportFile(door: string): string {
  return join('api', `${door.replaceAll('/', '-').replace(/-index$/, '')}.d.ts`)
}
