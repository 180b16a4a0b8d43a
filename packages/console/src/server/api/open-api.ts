import { z } from 'zod'
import type { Route } from './route.ts'

/** The OpenAPI document, written from the table of routes. */
export function openApi(routes: readonly Route[], basePath: string): object {
  const paths: Record<string, Record<string, object>> = structuredClone(withoutRoute)
  for (const route of routes) {
    paths[route.path] ??= {}
    paths[route.path]![route.method] = operation(route)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Onceward console', version: '1' },
    servers: [{ url: `${basePath}api` }],
    paths,
    components: {
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: 'onceward-session' },
        csrf: { type: 'apiKey', in: 'header', name: 'x-csrf-token' },
      },
    },
  }
}

const answers = (schema: object, type = 'application/json') => ({
  200: { description: 'Done', content: { [type]: { schema } } },
})
const link = { type: 'object', properties: { token: { type: 'string' } }, required: ['token'] }
const screen = {
  name: 'screen',
  in: 'query',
  schema: { type: 'array', items: { type: 'string' } },
  description: 'Routes with x-live, with their query, such as `consumers/orders`.',
}

/** What no session or no JSON has: sign-in, and the stream. */
const withoutRoute: Record<string, Record<string, object>> = {
  '/sign-in': {
    get: { summary: 'How people sign in here', responses: answers({ type: 'object' }) },
    post: {
      summary: 'Sign in by a link, once',
      requestBody: { required: true, content: { 'application/json': { schema: link } } },
      responses: answers({ type: 'object' }),
    },
  },
  '/sign-out': { post: { summary: 'End the session', responses: answers({ type: 'object' }) } },
  '/live': {
    get: {
      summary: 'Server-sent events: overview each second, screen when an answer changes, away',
      security: [{ session: [] }],
      parameters: [screen],
      responses: answers({ type: 'string' }, 'text/event-stream'),
    },
  },
}

function operation(route: Route): object {
  const refusal = { description: 'Refused: code and sentence. Nothing was changed.' }
  return {
    summary: route.summary,
    ...(route.isLive && { 'x-live': true }),
    ...(route.role === null ? {} : { 'x-role': route.role, security: [security(route)] }),
    parameters: [...pathParameters(route), ...queryParameters(route)],
    ...(route.body && { requestBody: { required: true, content: json(route.body, 'input') } }),
    responses: {
      200: { description: 'Done', content: json(route.answer, 'output') },
      ...Object.fromEntries([400, 401, 403, 404, 409, 429, 503].map(status => [status, refusal])),
    },
  }
}

const security = ({ method }: Route) => (method === 'get' ? { session: [] } : { session: [], csrf: [] })

function json(schema: z.ZodType, io: 'input' | 'output') {
  return { 'application/json': { schema: jsonSchema(schema, io) } }
}

/** Times are text in JSON. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): object {
  return z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema: written }) => {
      if (zodSchema._zod.def.type === 'date') Object.assign(written, { type: 'string', format: 'date-time' })
    },
  })
}

function pathParameters({ path }: Route): object[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
}

function queryParameters({ query }: Route): object[] {
  return Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    schema: jsonSchema(schema as z.ZodType, 'input'),
  }))
}
