import { nearestName } from '../../ports/nearest-name.ts'
import type { Placed, PlacedEntry } from './parse-yaml.ts'
import type { Refuse } from './problem.ts'
import { refersSomewhere } from './secret-reference.ts'

/** A finding of `onceward check` that the team accepts. */
export interface PolicyWaiver {
  readonly rule: string
  /** Absent: every consumer. */
  readonly consumer?: string
  readonly reason: string
  readonly owner: string
  /** The last day of its validity, as in 2027-03-31, in UTC. */
  readonly until: string
  /** Its place in the file: `onceward.yaml:12:5`. */
  readonly place: string
}

export const waiverFields = {
  rule: 'the id of the rule',
  consumer: 'the consumer it applies to. Default: every consumer',
  reason: 'why the finding is acceptable',
  owner: 'who is responsible for it',
  until: 'the last day of its validity, as 2027-03-31, in UTC',
} as const

const required = ['rule', 'reason', 'owner', 'until'] as const

export function readWaivers(node: Placed, file: string, refuse: Refuse): PolicyWaiver[] {
  if (node.kind === 'scalar' && node.value === null) return []
  if (node.kind !== 'list') {
    refuse(node, ['waivers'], 'must be a list')
    return []
  }
  return node.items.flatMap((item, index) => readWaiver(item, ['waivers', String(index)], file, refuse))
}

function readWaiver(node: Placed, path: readonly string[], file: string, refuse: Refuse): PolicyWaiver[] {
  if (node.kind !== 'map') {
    refuse(node, path, `must have the keys ${required.join(', ')}`)
    return []
  }
  const fields = new Map<string, string>()
  for (const entry of node.entries) {
    const value = readField(entry, [...path, entry.name], refuse)
    if (value !== null) fields.set(entry.name, value)
  }
  const given = new Set(node.entries.map(({ name }) => name))
  for (const name of required.filter(name => !given.has(name)))
    refuse(node, [...path, name], `is missing: ${waiverFields[name]}`)
  if (required.some(name => !fields.has(name))) return []
  const place = `${file}:${node.line}:${node.column}`
  return [{ ...(Object.fromEntries(fields) as Omit<PolicyWaiver, 'place'>), place }]
}

function readField({ name, at, value }: PlacedEntry, path: readonly string[], refuse: Refuse): string | null {
  if (!Object.hasOwn(waiverFields, name)) {
    const near = name.length > 60 ? null : nearestName(name, Object.keys(waiverFields))
    refuse(at, path, `is not a known key${near === null ? '' : `; did you mean '${near}'?`}`)
    return null
  }
  const text = value.kind === 'scalar' && typeof value.value === 'string' ? value.value.trim() : ''
  if (text === '' || refersSomewhere(text)) {
    refuse(value, path, `must be a string: ${waiverFields[name as keyof typeof waiverFields]}`)
    return null
  }
  if (name === 'until' && !isDay(text)) {
    refuse(value, path, 'must be a day, as 2027-03-31')
    return null
  }
  return text
}

function isDay(text: string): boolean {
  const parts = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (parts === null) return false
  const [year, month, day] = parts.slice(1).map(Number) as [number, number, number]
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
  return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1]!
}
