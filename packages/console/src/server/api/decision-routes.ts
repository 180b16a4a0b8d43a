import {
  acceptBroker,
  acceptLoss,
  acceptServer,
  listBrokers,
  listReaders,
  readLosses,
  readRestore,
  renameConsumer,
  separateConsumer,
} from 'onceward/operations'
import { z } from 'zod'
import { notFound } from '../http/problem.ts'
import { cliCommand } from './cli-command.ts'
import type { Route } from './route.ts'

const because = z.string().min(1).max(2_000)
const done = z.looseObject({})

/** What docs/operations.md asks people to decide. */
export const decisionRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/decisions',
    isLive: true,
    summary: 'Losses, incarnations of the server, brokers and names',
    role: 'viewer',
    answer: z.looseObject({ losses: z.array(z.looseObject({})) }),
    handle: async call => {
      const visible = await call.visible()
      const losses = (await readLosses(call.pool)).filter(
        ({ consumer }) => visible === undefined || visible.includes(consumer),
      )
      const commanded = losses.map(loss => ({
        ...loss,
        command: cliCommand(['losses', 'accept', String(loss.id)], { consumer: loss.consumer, because: '…' }),
      }))
      if (visible !== undefined) return { losses: commanded, restore: null, brokers: [], readers: [] }
      return {
        losses: commanded,
        restore: await readRestore(call.pool),
        brokers: await listBrokers(call.pool),
        readers: await listReaders(call.pool),
      }
    },
  },
  {
    method: 'post',
    path: '/decisions/losses/{id}/accept',
    summary: 'Accept a loss as it was shown',
    role: 'operator',
    act: 'losses accept',
    body: z.object({ consumer: z.string(), digest: z.string(), because }),
    answer: done,
    handle: async (call, { params, body }) => {
      await call.assertAllowed(body.consumer)
      const id = rowNumber(params.id!, 'Loss')
      return acceptLoss(call.acts, { id, consumer: body.consumer, seen: body.digest, because: body.because })
    },
  },
  {
    method: 'post',
    path: '/decisions/restore/{id}/accept',
    summary: 'Let consumers continue on this copy of the database',
    role: 'admin',
    act: 'restore accept',
    body: z.object({ because }),
    answer: done,
    handle: async (call, { params, body }) => {
      await call.assertUnscoped()
      return acceptServer(call.acts, rowNumber(params.id!, 'Incarnation'), body.because)
    },
  },
  {
    method: 'post',
    path: '/decisions/brokers/accept',
    summary: 'Add a broker cluster',
    role: 'admin',
    act: 'brokers accept',
    body: z.object({ kind: z.string(), cluster: z.string().min(1), because }),
    answer: done,
    handle: async (call, { body }) => {
      await call.assertUnscoped()
      await acceptBroker(call.acts, body.kind, body.cluster, body.because)
      return { ok: true }
    },
  },
  {
    method: 'post',
    path: '/decisions/names/rename',
    summary: 'Rename a consumer that does not run',
    role: 'admin',
    act: 'consumers rename',
    body: z.object({ from: z.string(), to: z.string(), because }),
    answer: done,
    handle: async (call, { body }) => {
      await call.assertUnscoped()
      return renameConsumer(call.acts, body.from, body.to, body.because)
    },
  },
  {
    method: 'post',
    path: '/decisions/names/separate',
    summary: 'Allow two consumers on one source',
    role: 'admin',
    act: 'consumers separate',
    body: z.object({ name: z.string(), from: z.string(), because }),
    answer: done,
    handle: async (call, { body }) => {
      await call.assertUnscoped()
      await separateConsumer(call.acts, body.name, body.from, body.because)
      return { ok: true }
    },
  },
]

/** The database would refuse another text with an error that says nothing. */
function rowNumber(id: string, what: string): number {
  if (/^\d{1,15}$/.test(id)) return Number(id)
  throw notFound(`${what} ${id}`)
}
