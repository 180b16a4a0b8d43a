import { randomUUID } from 'node:crypto'
import { listRedrives, showRedrive, startRedrive, stopRedrive } from 'onceward/operations'
import { z } from 'zod'
import { missingAs, notFound } from '../http/problem.ts'
import { shownDigests } from '../rights/hide-digests.ts'
import { sameRows, selectionOf } from './act-routes.ts'
import { cliCommand } from './cli-command.ts'
import { conducted, conductRedrive } from './conduct-redrive.ts'
import type { Call, Route } from './route.ts'

const because = z.string().min(1).max(2_000)
const summary = z.looseObject({ requestId: z.string(), state: z.string() })

export const redriveRoutes: readonly Route[] = [
  {
    method: 'post',
    path: '/selections/{id}/redrive',
    summary: 'Redrive a selection; with a ramp, few messages first, stopping when too many fail',
    role: 'operator',
    act: 'parked redrive',
    body: z.object({
      because,
      ramp: z.boolean().default(true),
      perSecond: z.number().int().min(1).max(100_000).nullable().default(null),
    }),
    answer: z.object({ requestId: z.string(), command: z.string() }),
    handle: async (call, { params, body }) => {
      const selection = await selectionOf(call, params.id!)
      const requestId = `console-${call.key ?? randomUUID()}`
      const { perSecond, ramp } = body
      await startRedrive(call.acts, { requestId, ...selection, perSecond, because: body.because })
      conductRedrive(call.later, requestId, ramp)
      const { words, flags } = sameRows(selection)
      const command = cliCommand(['parked', 'redrive', ...words], {
        ...flags,
        because: body.because,
        id: requestId,
        rate: perSecond,
        ramp,
      })
      return { requestId, command }
    },
  },
  {
    method: 'get',
    path: '/redrives',
    isLive: true,
    summary: 'Redrives, newest first',
    role: 'viewer',
    answer: z.object({ redrives: z.array(summary) }),
    handle: async call => {
      const redrives = await listRedrives(call.pool, { consumers: await call.visible(), countMax: 50 })
      return { redrives: redrives.map(one => ({ ...one, conducted: conducted.has(one.requestId) })) }
    },
  },
  {
    method: 'get',
    path: '/redrives/{request}',
    isLive: true,
    summary: 'One redrive with the outcome of each message',
    role: 'viewer',
    answer: summary,
    handle: async (call, { params }) => {
      const redrive = await find(call, params.request!, 500)
      const note = conducted.get(redrive.requestId)
      const shown = shownDigests(redrive, await call.reach())
      return {
        ...shown,
        conducted: note !== undefined && !note.ended,
        note: redrive.stoppedBecause ?? note?.text ?? null,
        commands: commandsOf(redrive),
      }
    },
  },
  {
    method: 'post',
    path: '/redrives/{request}/stop',
    summary: 'Stop a redrive between two stages',
    role: 'operator',
    act: 'parked redrive',
    body: z.object({ because }),
    answer: z.looseObject({}),
    handle: async (call, { params, body }) => {
      const { requestId } = await find(call, params.request!, 0)
      await stopRedrive(call.acts, requestId, body.because)
      return { ok: true }
    },
  },
  {
    method: 'post',
    path: '/redrives/{request}/continue',
    summary: 'Continue a redrive that was stopped, or whose process ended',
    role: 'operator',
    act: 'parked redrive',
    body: z.object({ because, ramp: z.boolean().default(true) }),
    answer: z.looseObject({}),
    handle: async (call, { params, body }) => {
      const { requestId, consumer, digest, perSecond } = await find(call, params.request!, 0)
      await startRedrive(call.acts, {
        requestId,
        consumer,
        digest,
        perSecond,
        ids: [],
        because: body.because,
      })
      conductRedrive(call.later, requestId, body.ramp)
      return { ok: true }
    },
  },
]

/** The same in a terminal. Both act on the rows that were selected at first. */
function commandsOf({ requestId, consumer }: { readonly requestId: string; readonly consumer: string }) {
  return {
    stop: cliCommand(['parked', 'stop', requestId], { because: '…' }),
    continue: cliCommand(['parked', 'redrive'], { id: requestId, consumer, ramp: true, because: '…' }),
  }
}

async function find(call: Call, id: string, countMax: number) {
  const missing = notFound(`Redrive ${id}`)
  const found = await showRedrive(call.pool, id, countMax).catch(missingAs(missing))
  await call.assertAllowed(found.consumer, missing)
  return found
}
