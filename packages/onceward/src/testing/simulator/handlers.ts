import type { BatchContext, BatchItem, HandlerContext } from '../../contract/handler.ts'
import { ignore, park, reject, retryAfter, type Verdict } from '../../engine/batch/verdicts.ts'
import type { SimulatedTx } from './handler-transaction.ts'
import type { SimulatedJob } from './job.ts'
import type { Workload } from './workload.ts'

/** The handlers of a workload: each message declares its outcome. */
export function handlersOf(workload: Workload) {
  const apply = async (tx: SimulatedTx, item: BatchItem<SimulatedJob>): Promise<Verdict | void> => {
    const { message, envelope, effects } = item
    const verdict = verdictOf(message, workload)
    if (verdict !== null) return verdict
    if (message.plan === 'hang' && workload.failsNow(message.id)) await new Promise<never>(() => {})
    if (message.plan === 'fail early' && workload.failsNow(message.id)) throw new Error('too early')
    if (message.plan === 'touch') await tx.touch('account')
    await tx.record({ id: message.id, version: message.version, position: envelope.position })
    if (message.plan === 'refused') await tx.refused('23505')
    if (message.plan === 'swallow') await tx.refused('23505').catch(() => {})
    if (message.plan === 'refused late') await tx.refusedLate('23503')
    if (message.plan === 'careless') void tx.touch('account').catch(() => {})
    if (message.plan === 'fatal') await tx.fatal()
    const fails = message.plan === 'fail late' || message.plan === 'poison'
    if (fails && workload.failsNow(message.id)) throw new Error('too late')
    if (message.plan === 'external') effects.external('gateway', { key: message.id, body: message.id })
    if (message.plan === 'clash') effects.external('gateway', { key: 'same for all', body: message.id })
  }
  return {
    each: ({ tx, ...item }: HandlerContext<SimulatedJob, SimulatedTx>) => apply(tx, item),

    async batch({ tx, batch }: BatchContext<SimulatedJob, SimulatedTx>) {
      const verdicts = new Map<BatchItem<SimulatedJob>, Verdict>()
      for (const item of batch) {
        const verdict = await apply(tx, item)
        if (verdict !== undefined) verdicts.set(item, verdict as Verdict)
      }
      return verdicts
    },
  }
}

function verdictOf({ id, plan }: SimulatedJob, workload: Workload): Verdict | null {
  switch (plan) {
    case 'ignore':
      return ignore('nothing to do')
    case 'park':
      return park('not now')
    case 'reject':
      return reject('never')
    case 'again':
      return workload.failsNow(id) ? retryAfter(50) : null
    default:
      return null
  }
}
