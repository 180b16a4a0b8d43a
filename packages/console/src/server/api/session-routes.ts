import { z } from 'zod'
import type { Route } from './route.ts'

export const sessionAnswer = z.object({
  person: z.string(),
  issuer: z.string(),
  roles: z.array(z.string()),
  scope: z.looseObject({}).nullable(),
  payload: z.enum(['full', 'masked', 'none']),
  csrf: z.string().describe('Sent as header x-csrf-token with every act.'),
  signOut: z.boolean(),
})

export const sessionRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/session',
    summary: 'The signed-in person, their rights and the CSRF token',
    role: 'viewer',
    answer: sessionAnswer,
    handle: async ({ session }) => ({
      person: session.identity.name,
      issuer: session.identity.issuer,
      roles: session.rights.roles,
      scope: session.rights.scope,
      payload: session.rights.payload,
      csrf: session.csrf,
      signOut: session.identity.issuer !== 'proxy',
    }),
  },
]
