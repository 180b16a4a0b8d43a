import { z } from 'zod'
import { contentOf } from './answers.ts'
import type { Route } from './route.ts'

/** The OpenAPI document, written from the table of routes. `cookie`: the name of the session's cookie. */
export function openApi(routes: readonly Route[], basePath: string, cookie: string): object {
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
      schemas: { Refusal: refusalSchema },
      responses: refusals,
      headers: { complete: completeHeader },
      parameters: { idempotencyKey },
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: cookie },
        csrf: { type: 'apiKey', in: 'header', name: 'x-csrf-token' },
      },
    },
  }
}

const refusalSchema = jsonSchema(
  z.object({
    error: z.object({
      code: z.string(),
      message: z.string().describe('What happened, and whether anything was changed.'),
    }),
  }),
  'output',
)

const refusalTexts = {
  400: 'The input does not fit its schema.',
  401: 'No person is signed in.',
  403: 'Another role or scope, another origin, or no CSRF token.',
  404: 'It does not exist, or is out of scope.',
  409: 'The database or its state refused.',
  413: 'The body is larger than 8.5 MB.',
  421: 'The host is not the one of this console.',
  429: 'Too many requests.',
  503: 'The database does not answer; `retry-after` says when to ask again.',
}

const refusals = Object.fromEntries(
  Object.entries(refusalTexts).map(([status, description]) => [
    `Refusal${status}`,
    {
      description: `${description} Nothing was changed, unless the sentence says otherwise.`,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Refusal' } } },
    },
  ]),
)

const completeHeader = {
  description: 'False when more rows match than an export has, or a search took too long.',
  schema: { type: 'string', enum: ['true', 'false'] },
}

const idempotencyKey = {
  name: 'idempotency-key',
  in: 'header',
  required: false,
  schema: { type: 'string', pattern: '^[\\w.:-]{8,80}$' },
  description: 'Made once for each confirmation. A request that is repeated under it is done once.',
}

const answers = (schema: object, type = 'application/json') => ({
  200: { description: 'Done', content: { [type]: { schema } } },
})
const link = { type: 'object', properties: { token: { type: 'string' } }, required: ['token'] }
const signInKind = {
  type: 'object',
  properties: { kind: { type: 'string', enum: ['link', 'proxy', 'openid'] } },
  required: ['kind'],
}
const ok = { type: 'object', properties: { ok: { const: true } }, required: ['ok'] }
const screen = {
  name: 'screen',
  in: 'query',
  schema: { type: 'array', items: { type: 'string' } },
  description: 'Routes with x-live, with their query, such as `consumers/orders`.',
}

/** What no session or no JSON has: sign-in, and the stream. */
const withoutRoute: Record<string, Record<string, object>> = {
  '/sign-in': {
    get: { summary: 'How people sign in here', responses: answers(signInKind) },
    post: {
      summary: 'Sign in by a link, once',
      requestBody: { required: true, content: { 'application/json': { schema: link } } },
      responses: answers(ok),
    },
  },
  '/sign-out': { post: { summary: 'End the session', responses: answers(ok) } },
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
  const statuses = Object.keys(refusalTexts).filter(status => status !== '413' || route.body !== undefined)
  return {
    summary: route.summary,
    ...(route.isLive && { 'x-live': true }),
    ...(route.role === null ? {} : { 'x-role': route.role, security: [security(route)] }),
    parameters: [
      ...pathParameters(route),
      ...queryParameters(route),
      ...(route.act === undefined ? [] : [{ $ref: '#/components/parameters/idempotencyKey' }]),
    ],
    ...(route.body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: jsonSchema(route.body, 'input') } },
      },
    }),
    responses: {
      200: answered(route),
      ...Object.fromEntries(
        statuses.map(status => [status, { $ref: `#/components/responses/Refusal${status}` }]),
      ),
    },
  }
}

function answered(route: Route): object {
  const content = Object.entries(contentOf(route)).map(([type, schema]) => [
    type,
    { schema: schema instanceof z.ZodType ? jsonSchema(schema, 'output') : schema },
  ])
  return {
    description: 'Done',
    ...(route.path === '/messages/export' && {
      headers: { 'x-onceward-complete': { $ref: '#/components/headers/complete' } },
    }),
    content: Object.fromEntries(content),
  }
}

const security = ({ method }: Route) => (method === 'get' ? { session: [] } : { session: [], csrf: [] })

/** Times are text in JSON. A later version may answer more members, so that answers are not closed. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): object {
  return z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema: written }) => {
      if (zodSchema._zod.def.type === 'date') Object.assign(written, { type: 'string', format: 'date-time' })
      if (io === 'output' && written.additionalProperties === false) delete written.additionalProperties
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
