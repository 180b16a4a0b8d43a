import { z } from 'zod'
import { most, roles } from '../rights/rights.ts'
import type { Route } from './route.ts'

export const sessionAnswer = z.object({
  person: z.string(),
  issuer: z.string(),
  roles: z.array(z.string()).describe('Of all rights together.'),
  rights: z.array(
    z.object({ roles: z.array(z.string()), scope: z.looseObject({}).nullable(), payload: z.string() }),
  ),
  payload: z.enum(['full', 'masked', 'none']).describe('The highest of all rights.'),
  csrf: z.string().describe('Sent as header x-csrf-token with every act.'),
  signOut: z.boolean(),
  headline: z.boolean().describe('Whether GET headline has a card.'),
})

export const sessionRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/session',
    summary: 'The signed-in person, their rights and the CSRF token',
    role: 'viewer',
    answer: sessionAnswer,
    handle: async ({ session, headline }) => ({
      person: session.identity.name,
      issuer: session.identity.issuer,
      roles: roles.filter(role => session.rights.some(right => right.roles.includes(role))),
      rights: session.rights,
      payload: most(session.rights.map(({ payload }) => payload)),
      csrf: session.csrf,
      signOut: session.identity.issuer !== 'proxy',
      headline: headline !== undefined,
    }),
  },
]
