import { approveRequest, deleteParked, listApprovals, showParked } from 'onceward/operations'
import { z } from 'zod'
import { notFound } from '../http/problem.ts'
import { cliCommand } from './cli-command.ts'
import type { Call, Route } from './route.ts'

const request = z.looseObject({ id: z.string(), verb: z.string(), state: z.string() })

export const approvalRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/approvals',
    summary: 'Requests that need a second person, newest first',
    role: 'viewer',
    answer: z.object({ approvals: z.array(request) }),
    handle: async call => {
      const visible = await call.visible()
      const approvals = await listApprovals(call.pool, 200)
      const shown = approvals.filter(({ consumer }) => visible === undefined || visible.includes(consumer))
      return {
        approvals: shown.map(one => ({
          ...one,
          ids: one.ids.slice(0, 50),
          mine: samePerson(one.requestedBy, call.session.identity.name),
          command: cliCommand(['parked', 'approve', one.id], { expect: one.digest, because: '…' }),
        })),
      }
    },
  },
  {
    method: 'post',
    path: '/approvals/{id}/approve',
    summary: 'Approve a request of another person',
    role: 'approver',
    act: 'approve',
    body: z.object({ digest: z.string().regex(/^[0-9a-f]{64}$/), because: z.string().min(1).max(2_000) }),
    answer: request,
    handle: async (call, { params, body }) => {
      await find(call, params.id!)
      return approveRequest(call.acts, params.id!, body.digest, body.because)
    },
  },
  {
    method: 'post',
    path: '/approvals/{id}/erase',
    summary: 'Delete the messages of an approved request',
    role: 'operator',
    act: 'parked erase',
    body: z.object({ consumer: z.string() }),
    answer: z.looseObject({ closed: z.number() }),
    handle: async (call, { params, body }) => {
      await find(call, params.id!)
      return deleteParked(call.acts, { id: params.id!, consumer: body.consumer })
    },
  },
  {
    method: 'get',
    path: '/approvals/{id}',
    summary: 'One request; for a fix, with the new payload',
    role: 'viewer',
    answer: request,
    handle: async (call, { params }) => {
      const found = await find(call, params.id!)
      const shows = found.verb === 'fix' && call.session.rights.payload === 'full'
      const message = shows ? await showParked(call.pool, found.ids[0]!).catch(() => null) : null
      return { ...found, payload: message?.body ?? null }
    },
  },
]

async function find(call: Call, id: string) {
  const found = (await listApprovals(call.pool, 1_000)).find(one => one.id === id)
  if (found === undefined) throw notFound(`Request ${id}`)
  await call.assertVisible(found.consumer)
  return found
}

/** For the page only: the database decides who may approve. */
function samePerson(actor: string, name: string): boolean {
  return (
    actor
      .replace(/ \(via .*$/, '')
      .trim()
      .toLowerCase() === name.trim().toLowerCase()
  )
}
