import { checkContract, releaseBrake, renderRunbook, runbooksFor } from 'onceward/operations'
import { z } from 'zod'
import { missingAs, notFound, Problem } from '../http/problem.ts'
import { Ticker } from '../live/ticker.ts'
import type { Call, Route } from './route.ts'

type Report = Awaited<ReturnType<typeof checkContract>> & { readonly at: Date }

/** A check queries brokers and the database: at most one a minute for each contract. */
const reports = new WeakMap<object, Ticker<Report>>()

export const alertRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/consumers/{name}/runbooks/{runbook}',
    summary: 'The runbook of an alert, with the commands for this consumer',
    role: 'viewer',
    answer: z.object({ name: z.string(), markdown: z.string() }),
    handle: async (call, { params }) => {
      await call.assertAllowed(params.name!)
      const consumer = contractOf(call, params.name!) as never
      const runbook = runbookOf(consumer, params.runbook!)
      const markdown = renderRunbook(runbook, { consumer, file: `${params.name}.ts` })
      return { name: runbook.name, markdown }
    },
  },
  {
    method: 'get',
    path: '/consumers/{name}/check',
    summary: 'Findings of "onceward check --live" for this consumer, at most a minute old',
    role: 'viewer',
    answer: z.looseObject({ at: z.date(), findings: z.array(z.looseObject({ id: z.string() })) }),
    handle: async (call, { params }) => {
      await call.assertAllowed(params.name!)
      const contract = contractOf(call, params.name!)
      const read = async () => ({ at: new Date(), ...(await checkContract(contract, call.database)) })
      const report = reports.get(contract) ?? new Ticker(read, 60_000)
      reports.set(contract, report)
      return report.now()
    },
  },
  {
    method: 'post',
    path: '/consumers/{name}/brakes/release',
    summary: 'Continue with a paused event type',
    role: 'operator',
    act: 'brakes release',
    body: z.object({ type: z.string().max(1_000), because: z.string().min(1).max(2_000) }),
    answer: z.looseObject({}),
    handle: async (call, { params, body }) => {
      await call.assertAllowed(params.name!)
      await releaseBrake(call.acts, { consumer: params.name!, ...body })
      return { ok: true }
    },
  },
]

function contractOf({ contracts }: Call, name: string) {
  const contract = contracts.get(name)
  if (contract !== undefined) return contract
  throw new Problem(409, 'no_contract', `The console was started without the contract of ${name}.`)
}

function runbookOf(consumer: never, name: string) {
  try {
    return runbooksFor(consumer, name)[0]!
  } catch (error) {
    return missingAs(notFound(`Runbook ${name}`))(error)
  }
}
