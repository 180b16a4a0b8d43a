import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** One exported name of a door. */
export interface Declaration {
  readonly name: string
  /** The comment above it; empty if there is none. */
  readonly comment: string
  /** Without comments of members. */
  readonly code: string
}

/** Every name that a declaration file exports, from any file that declares it, in order of names. */
export function declarationsOf(file: string): Declaration[] {
  const names = new Map<string, Declaration>()
  collect(file, null, names)
  return [...names.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

function collect(
  file: string,
  only: ReadonlyMap<string, string> | null,
  names: Map<string, Declaration>,
): void {
  const text = readFileSync(file, 'utf8')
  for (const [, list, from] of text.matchAll(/^export (?:type )?\{([^}]*)\} from '([^']+)';/gm)) {
    const wanted = only === null ? renames(list!) : composed(only, renames(list!))
    if (wanted.size > 0) collect(target(file, from!), wanted, names)
  }
  for (const [, from] of text.matchAll(/^export \* from '([^']+)';/gm))
    collect(target(file, from!), only, names)
  for (const [name, own] of Map.groupBy(ownDeclarations(text), ({ name }) => name)) {
    const as = only === null ? name : only.get(name)
    if (as === undefined) continue
    // Overloads are several.
    const comment = own.find(({ comment }) => comment !== '')?.comment ?? ''
    names.set(as, { name: as, comment, code: own.map(({ code }) => code).join('\n') })
  }
}

/** Local name to exported name. */
function renames(list: string): Map<string, string> {
  const found = [...list.matchAll(/(?:type )?([\w$]+)(?: as ([\w$]+))?\s*(?:,|$)/g)]
  return new Map(found.map(([, local, as]) => [local!, as ?? local!]))
}

function composed(
  outer: ReadonlyMap<string, string>,
  inner: ReadonlyMap<string, string>,
): Map<string, string> {
  const pairs = [...inner].filter(([, name]) => outer.has(name))
  return new Map(pairs.map(([local, name]) => [local, outer.get(name)!]))
}

function target(file: string, from: string): string {
  const path = join(dirname(file), from.replace(/\.[jt]s$/, '.d.ts'))
  if (!existsSync(path)) throw new Error(`${file} names ${from}, which was not written`)
  return path
}

const head = /^export (?:declare )?(?:abstract )?(?:interface|type|class|function|const|enum) ([\w$]+)/

function* ownDeclarations(text: string): Generator<Declaration> {
  const lines = text.split('\n')
  let comment = ''
  for (let at = 0; at < lines.length; at++) {
    if (lines[at]!.startsWith('/**')) {
      const end = lines.findIndex((line, index) => index >= at && line.includes('*/'))
      comment = lines.slice(at, end + 1).join('\n')
      at = end
      continue
    }
    const name = head.exec(lines[at]!)?.[1]
    if (name !== undefined) {
      const end = endOf(lines, at)
      yield { name, comment, code: withoutComments(lines.slice(at, end + 1).join('\n')) }
      at = end
    }
    comment = ''
  }
}

/** The line on which all brackets are closed. */
function endOf(lines: readonly string[], start: number): number {
  let depth = 0
  let commented = false
  for (let at = start; at < lines.length; at++) {
    const line = lines[at]!.replaceAll(/'[^']*'|"[^"]*"/g, '')
    commented ||= line.includes('/**')
    if (!commented) depth += line.match(/[([{]/g)?.length ?? 0
    if (!commented) depth -= line.match(/[)\]}]/g)?.length ?? 0
    if (!commented && depth === 0 && /[;}]$/.test(line)) return at
    if (line.includes('*/')) commented = false
  }
  return start
}

function withoutComments(code: string): string {
  return code.replaceAll(/^\s*\/\*\*[\s\S]*?\*\/\n/gm, '')
}
