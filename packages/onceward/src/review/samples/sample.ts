import { readFile } from 'node:fs/promises'
import { errorText, OncewardError } from '../../errors.ts'
import type { Delivery } from '../../ports/source.ts'

/** A message that a contract is tried on. */
export interface Sample {
  /** Its line in the file, from 1. */
  readonly line: number
  /** The body as JSON; undefined if the line has bytes. */
  readonly body: unknown
  readonly delivery: Delivery
}

const parts: readonly string[] = ['body', 'base64', 'headers', 'properties', 'key']

/**
 * JSON lines. A line is the body of a message; or an object with `body` (or `base64`, for other bytes) and,
 * optionally, `headers`, `properties` and `key`, and no other member.
 */
export async function readSamples(path: string): Promise<readonly Sample[]> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new OncewardError('usage', `There is no readable file ${path} with samples: ${error.code}.`)
  })
  const lines = text.split('\n').map((line, index) => ({ line: line.trim(), number: index + 1 }))
  const samples = lines
    .filter(({ line }) => line !== '')
    .map(({ line, number }) => sampleOf(parse(line, number, path), number))
  if (samples.length === 0) throw new OncewardError('usage', `${path} has no samples.`)
  return samples
}

function parse(text: string, line: number, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new OncewardError('usage', `${path}:${line} is not a line of JSON: ${errorText(error, 200)}.`)
  }
}

/** The sample of one parsed line. */
export function sampleOf(value: unknown, line: number): Sample {
  const place = { incarnation: 'samples', epoch: 0, at: String(line), next: String(line + 1) }
  const here = { ...blank, position: `samples/0@${line}`, partition: 'samples/0', place }
  if (!hasParts(value)) return { line, body: value, delivery: { ...here, body: jsonBytes(value) } }
  const { body, base64, headers = {}, properties = {}, key = null } = value
  const bytes = base64 === undefined ? jsonBytes(body) : Buffer.from(base64, 'base64')
  return { line, body, delivery: { ...here, body: bytes, headers, properties, key } }
}

type Parts = Partial<Pick<Delivery, 'headers' | 'properties' | 'key'>> & { body?: unknown; base64?: string }

function hasParts(value: unknown): value is Parts {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const names = Object.keys(value)
  return (names.includes('body') || names.includes('base64')) && names.every(name => parts.includes(name))
}

export const jsonBytes = (body: unknown): Buffer => Buffer.from(JSON.stringify(body))

export const blank: Delivery = {
  body: Buffer.alloc(0),
  headers: {},
  properties: {},
  origin: 'samples',
  position: null,
  partition: '',
  place: null,
  key: null,
  redelivered: false,
  deliveryCount: 0,
  token: null,
}
