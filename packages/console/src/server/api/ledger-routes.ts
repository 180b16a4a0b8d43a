import {
  dropStuck,
  type LedgerDetail,
  type LedgerEntry,
  listDestinations,
  listLedger,
  listStuck,
  reconcileEffect,
  retryEffect,
  showLedger,
} from 'onceward/operations'
import { z } from 'zod'
import { missingAs, notFound } from '../http/problem.ts'
import { shownDigests } from '../rights/hide-digests.ts'
import { withoutKeys } from '../rights/hide-keys.ts'
import type { Reach } from '../rights/reach.ts'
import { assertNumber } from './act-routes.ts'
import { cliCommand } from './cli-command.ts'
import type { Call, Route } from './route.ts'

const because = z.string().min(1).max(2_000)
const effect = z.looseObject({ id: z.string(), consumer: z.string(), state: z.string() })

export const ledgerRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/ledger',
    isLive: true,
    summary: 'External effects that need attention, or in a state',
    role: 'viewer',
    query: z.object({
      state: z.string().max(20).optional(),
      consumer: z.string().optional(),
      message: z.string().optional(),
    }),
    answer: z.object({ effects: z.array(effect) }),
    handle: async (call, { query }) => {
      const reach = await call.reach()
      const effects = await listLedger(call.pool, { ...query, consumers: reach.visible, limit: 500 })
      return { effects: effects.map(effect => shownEffect(reach, effect)) }
    },
  },
  {
    method: 'get',
    path: '/ledger/{id}',
    isLive: true,
    summary: 'One effect with its attempts and acts',
    role: 'viewer',
    answer: effect,
    handle: async (call, { params }) => {
      const found = await ofScope(call, params.id!)
      const reach = await call.reach()
      return {
        ...shownDetail(reach, found),
        commands: {
          reconcile: cliCommand(['ledger', 'reconcile', found.id], {
            as: 'completed',
            consumer: found.consumer,
            because: '…',
          }),
          retry: cliCommand(['ledger', 'retry', found.id], { consumer: found.consumer, because: '…' }),
        },
      }
    },
  },
  {
    method: 'post',
    path: '/ledger/{id}/reconcile',
    summary: 'Record whether an effect with an unknown outcome happened',
    role: 'operator',
    act: 'ledger reconcile',
    body: z.object({ as: z.enum(['completed', 'not done']), because }),
    answer: effect,
    handle: async (call, { params, body }) => {
      const { id, consumer } = await ofScope(call, params.id!)
      const done = await reconcileEffect(call.acts, { id, consumer, because: body.because }, body.as)
      return shownDetail(await call.reach(), done)
    },
  },
  {
    method: 'post',
    path: '/ledger/{id}/retry',
    summary: 'Make an effect due now, within the policy of its target',
    role: 'operator',
    act: 'ledger retry',
    body: z.object({ because }),
    answer: effect,
    handle: async (call, { params, body }) => {
      const { id, consumer } = await ofScope(call, params.id!)
      const done = await retryEffect(call.acts, { id, consumer, because: body.because })
      return shownDetail(await call.reach(), done)
    },
  },
  {
    method: 'get',
    path: '/outbox',
    isLive: true,
    summary: 'Destinations, relays, and messages that a broker refuses',
    role: 'viewer',
    answer: z.looseObject({ stuck: z.array(z.looseObject({})) }),
    handle: async call => {
      // Rows of the outbox do not name their consumer.
      await call.assertUnscoped()
      const { status } = await call.screens.overview.now()
      const stuck = await listStuck(call.pool, 200)
      return {
        outbox: status.outbox,
        relays: status.relays,
        destinations: await listDestinations(call.pool),
        stuck: (await call.reach()).readable === undefined ? stuck : withoutKeys(stuck),
      }
    },
  },
  {
    method: 'post',
    path: '/outbox/{id}/drop',
    summary: 'Drop a message that its broker refuses',
    role: 'admin',
    act: 'outbox drop',
    body: z.object({ messageId: z.string(), because }),
    answer: z.looseObject({}),
    handle: async (call, { params, body }) => {
      assertNumber(params.id!)
      await call.assertUnscoped()
      return dropStuck(call.acts, params.id!, body.messageId, body.because)
    },
  },
]

/** The key of a call is what its handler made of the message, and the text of an error may quote it. */
function shownEffect<Row extends LedgerEntry>(reach: Reach, row: Row): Row {
  const full = reach.payloadFor(row.consumer) === 'full'
  const shown = shownDigests(full ? row : { ...row, note: null }, reach)
  return full ? shown : withoutKeys(shown)
}

/** What was sent and answered is shown to those who see whole payloads. */
function shownDetail(reach: Reach, found: LedgerDetail): LedgerDetail {
  const shown = shownEffect(reach, found)
  return reach.payloadFor(found.consumer) === 'full' ? shown : { ...shown, mail: null, responseExcerpt: null }
}

async function ofScope(call: Call, id: string) {
  assertNumber(id)
  const missing = notFound(`Effect ${id}`)
  const found = await showLedger(call.pool, id).catch(missingAs(missing))
  await call.assertAllowed(found.consumer, missing)
  return found
}
