import { isRecord } from '../check-values.ts'

type Path = readonly string[]

/** What is at a path: nothing, a value, or a plain value above it that has no keys. */
export type PathValue =
  | { readonly is: 'free' }
  | { readonly is: 'value'; readonly value: unknown }
  | { readonly is: 'blocked' }

export function find(root: unknown, path: Path): PathValue {
  let value = root
  for (const part of path) {
    if (value === undefined) return { is: 'free' }
    if (!isRecord(value)) return { is: 'blocked' }
    value = Object.hasOwn(value, part) ? value[part] : undefined
  }
  return value === undefined ? { is: 'free' } : { is: 'value', value }
}

/** A copy with `value` at the path; everything else is unchanged. */
export function put(root: unknown, path: Path, value: unknown): unknown {
  const [part, ...rest] = path
  if (part === undefined) return value
  const record = isRecord(root) ? root : {}
  const below = Object.hasOwn(record, part) ? record[part] : undefined
  return { ...record, [part]: put(below, rest, value) }
}
