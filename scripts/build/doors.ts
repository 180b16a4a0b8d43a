import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A module that the package exports. */
export interface Door {
  /** Under `dist`, without its ending, such as `drivers/kafka/index`. */
  readonly name: string
  readonly source: string
}

interface Manifest {
  readonly engines: { readonly node: string }
  readonly exports: Readonly<
    Record<string, string | { '@onceward/source': string; import: { default: string } }>
  >
}

/** The entries of `exports`, but for plain files. */
export function doorsOf(home: string): Door[] {
  return Object.values(manifestOf(home).exports)
    .filter(door => typeof door !== 'string')
    .map(door => ({
      name: door.import.default.replace(/^\.\/dist\/|\.js$/g, ''),
      source: join(home, door['@onceward/source']),
    }))
}

/** The oldest Node of `engines`, such as `22.19`. */
export function oldestNode(home: string): string {
  return manifestOf(home).engines.node.replace('>=', '')
}

function manifestOf(home: string): Manifest {
  return JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as Manifest
}
