import type { Context } from 'hono'
import { Problem } from '../http/problem.ts'
import type { Input, Route } from './route.ts'

const bodyMax = 8_500_000

export async function readInput(route: Route, context: Context): Promise<Input> {
  const params = context.req.param() as Record<string, string>
  const query = route.query === undefined ? {} : parsed(route.query, context.req.query())
  if (route.body === undefined) return { params, query, body: {} }
  return { params, query, body: parsed(route.body, await readJson(context)) }
}

/** The body of a request, read once; null if it is not JSON. It is counted as it arrives. */
export async function readJson(context: Context): Promise<unknown> {
  const read = context.get('json') ?? { value: jsonOf(await readBytes(context.req.raw)) }
  context.set('json', read)
  return read.value
}

async function readBytes(request: Request): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let size = Number(request.headers.get('content-length') ?? 0)
  if (size > bodyMax) throw tooLarge()
  size = 0
  for await (const part of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    size += part.length
    if (size > bodyMax) throw tooLarge()
    parts.push(part)
  }
  return Buffer.concat(parts)
}

const tooLarge = () => new Problem(413, 'too_large', 'The request is too large. Nothing was changed.')

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return null
  }
}

export function parsed(schema: NonNullable<Route['body']>, value: unknown): unknown {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new Problem(
    400,
    'input',
    `${issue!.path.join('.') || 'The input'}: ${issue!.message}. Nothing was changed.`,
  )
}
