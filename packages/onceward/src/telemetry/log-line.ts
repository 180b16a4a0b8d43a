import type { LogFields, LogLevel } from '../environment.ts'
import { anyText, errorText } from '../errors.ts'
import { escaped } from '../message/deceptive.ts'

const lengthMax = 4_000
const reserved: ReadonlySet<string> = new Set(['at', 'level', 'message'])

/** One line of JSON. A field can neither replace the fixed fields of the line nor start another line. */
export function jsonLine(level: LogLevel, message: string, fields: LogFields, at: Date): string {
  const line: Record<string, unknown> = { at: at.toISOString(), level, message: cut(message) }
  for (const [name, value] of Object.entries(fields))
    line[reserved.has(name) ? `${name}_` : name] = plain(value)
  return escaped(JSON.stringify(line))
}

/** The same for people, as `name=value`; a value with spaces or quotes is quoted. */
export function textOf(fields: LogFields): string {
  return Object.entries(fields)
    .map(([name, value]) => `${escaped(name)}=${quoted(plain(value))}`)
    .join(' ')
}

function quoted(value: unknown): string {
  const text = escaped(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined'))
  return typeof value === 'string' && /[\s"=]/.test(text)
    ? JSON.stringify(text).replaceAll('\\\\u', '\\u')
    : text
}

/** Bytes are shown as their length: bodies are never logged. */
function plain(value: unknown): unknown {
  if (value === null || ['undefined', 'boolean', 'number'].includes(typeof value)) return value
  if (typeof value === 'string') return cut(value)
  if (value instanceof Uint8Array) return `<${value.length} bytes>`
  if (value instanceof Error) return errorText(value, lengthMax)
  if (value instanceof Date) return anyText(value.toJSON())
  if (typeof value !== 'object') return cut(anyText(value))
  try {
    const text = JSON.stringify(value)
    return text.length <= lengthMax ? JSON.parse(text) : cut(text)
  } catch {
    return cut(anyText(value))
  }
}

function cut(text: string): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax)}…`
}
