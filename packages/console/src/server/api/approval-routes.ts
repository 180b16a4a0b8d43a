import {
  approveRequest,
  type DeletionRequest,
  declineRequest,
  deleteParked,
  findApproval,
  listApprovals,
  listFixes,
  showParked,
} from 'onceward/operations'
import { z } from 'zod'
import { notFound, Problem } from '../http/problem.ts'
import { shownDigests } from '../rights/hide-digests.ts'
import { samePerson } from '../rights/person-name.ts'
import type { Reach } from '../rights/reach.ts'
import { cliCommand } from './cli-command.ts'
import type { Call, Route } from './route.ts'

const openStates = ['requested', 'approved'] as const
const pastStates = ['executed', 'declined', 'expired'] as const
const request = z.looseObject({ id: z.string(), verb: z.string(), state: z.string() })

export const approvalRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/approvals',
    isLive: true,
    summary: 'Requests that need attention, newest first, then the most recently decided',
    role: 'viewer',
    answer: z.object({ approvals: z.array(request) }),
    handle: async call => {
      const reach = await call.reach()
      const filter = { consumers: reach.visible, idsMax: 50 }
      const open = await listApprovals(call.pool, { ...filter, states: openStates, countMax: 1_000 })
      const past = await listApprovals(call.pool, { ...filter, states: pastStates, countMax: 100 })
      const rows = [...open, ...past].map(one => ({
        ...one,
        mine: samePerson(one.requestedBy, call.session.identity.name),
        commands: commandsOf(one),
      }))
      return { approvals: rows.map(row => shownRequest(row, reach)) }
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
    path: '/approvals/{id}/decline',
    summary: 'Decline a request of another person, or withdraw your own',
    role: 'viewer',
    act: 'decline',
    body: z.object({ because: z.string().min(1).max(2_000) }),
    answer: request,
    handle: async (call, { params, body }) => {
      const { requestedBy, consumer } = await find(call, params.id!)
      const isOwn = samePerson(requestedBy, call.session.identity.name)
      if (!isOwn && !(await call.reach()).mayAct('approver', consumer))
        throw new Problem(403, 'role', 'This needs the role approver. Nothing was changed.')
      const declined = await declineRequest(call.acts, params.id!, body.because)
      return shownRequest({ ...declined, consumer }, await call.reach())
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
      const reach = await call.reach()
      const shows = found.verb === 'fix' && reach.payloadFor(found.consumer) === 'full'
      const message = shows ? await showParked(call.pool, found.ids[0]!).catch(() => null) : null
      const fixes = shows ? await listFixes(call.pool, found.ids[0]!).catch(() => []) : []
      const diff = fixes.findLast(({ kind }) => kind === 'payload')?.diff ?? null
      return { ...shownRequest(found, reach), payload: message?.body ?? null, diff }
    },
  },
]

function commandsOf({ id, digest, consumer }: DeletionRequest) {
  return {
    approve: cliCommand(['parked', 'approve', id], { expect: digest, because: '…' }),
    decline: cliCommand(['parked', 'decline', id], { because: '…' }),
    erase: cliCommand(['parked', 'erase', id], { consumer }),
  }
}

/** Who approves names the digest of what was shown. */
function shownRequest<Row extends { readonly consumer: string }>(row: Row, reach: Reach): Row {
  return reach.mayAct('approver', row.consumer) ? row : shownDigests(row, reach)
}

async function find(call: Call, id: string) {
  const missing = notFound(`Request ${id}`)
  const found = /^\d{1,18}$/.test(id) ? await findApproval(call.pool, id) : null
  if (found === null) throw missing
  await call.assertAllowed(found.consumer, missing)
  return found
}
