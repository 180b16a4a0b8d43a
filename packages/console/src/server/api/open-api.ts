import { z } from 'zod'
import type { Route } from './route.ts'

/** The OpenAPI document, written from the table of routes. */
export function openApi(routes: readonly Route[], basePath: string): object {
  const paths: Record<string, Record<string, object>> = {}
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

function operation(route: Route): object {
  const refusal = { description: 'Refused: code and sentence. Nothing was changed.' }
  return {
    summary: route.summary,
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
