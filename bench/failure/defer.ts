import { type ConsumerContract, defineConsumer, retryAfter, runConsumer, type SqlTransaction } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import { changesOf, incrementCounters } from '../contenders/apply-batch.ts'
import { type OpenContender, startClock } from '../contenders/contender.ts'
import type { Form } from '../contenders/onceward.ts'
import type { Increment } from '../workload.ts'

type How = 'nothing' | 'verdict' | 'statement'

/** One message in a hundred fails its first try. */
const oneIn = 100

/**
 * The workload's increments under `failure.mode: 'defer'`, timed from the first delivery to the last effect,
 * second tries included. Everything else is what a user gets. A statement that fails can be blamed on its
 * message only in the form per message.
 */
function openDefer(form: Form, how: How): OpenContender {
  return async place =>
    async ({ queue, load }) => {
      const failed = new Set<string>()
      const fails = ({ id }: Increment, n: number) => {
        if (how === 'nothing' || n % oneIn !== 0 || failed.has(id)) return false
        failed.add(id)
        return true
      }
      const consumer = defineConsumer<Increment, SqlTransaction>({
        name: `defer_${form}_${how}`,
        owner: 'bench',
        risk: 'projection',
        source: postgresQueue(queue),
        identity: { id: message => message.id },
        failure: { mode: 'defer', delayMs: 20 },
        ...handlerOf(form, how, fails),
      })
      const running = await runConsumer(consumer, { databaseUrl: place.databaseUrl })
      const seconds = startClock()
      const applied = () =>
        (running.consumer!.tally.outcomes.applied ?? 0) + (running.worker!.tally.outcomes.applied ?? 0)
      while (applied() < load.count) {
        if (running.consumer!.state === 'halted') await running.finished
        await new Promise(resolve => setTimeout(resolve, 1))
      }
      const took = seconds()
      await running.drain()
      return took
    }
}

type Handlers = Pick<ConsumerContract<Increment, SqlTransaction>, 'handle' | 'handleBatch'>

function handlerOf(form: Form, how: How, fails: (message: Increment, n: number) => boolean): Handlers {
  let n = 0
  if (form === 'batch')
    return {
      async handleBatch({ batch, tx }) {
        const failing = batch.filter(({ message }) => fails(message, n++))
        const rest = failing.length === 0 ? batch : batch.filter(item => !failing.includes(item))
        await tx.query(incrementCounters, changesOf(rest.map(item => item.message)))
        return new Map(failing.map(item => [item, retryAfter(10)]))
      },
    }
  return {
    async handle({ message, tx }) {
      const failing = fails(message, n++)
      if (failing && how === 'verdict') return retryAfter(10)
      await tx.query('update counter set total = total + $2 where key = $1', [message.key, message.amount])
      if (failing) await tx.query("do $$ begin raise exception 'staged'; end $$")
      return undefined
    },
  }
}

export const deferContenders = [
  { name: 'batch form, healthy', open: openDefer('batch', 'nothing') },
  { name: 'batch form, 1 % by verdict', open: openDefer('batch', 'verdict') },
  { name: 'per message, healthy', open: openDefer('message', 'nothing') },
  { name: 'per message, 1 % by verdict', open: openDefer('message', 'verdict') },
  { name: 'per message, 1 % by statement', open: openDefer('message', 'statement') },
]

export const deferAims = [
  { of: 'batch form, 1 % by verdict', to: 'batch form, healthy', atLeast: 0.9 },
  { of: 'per message, 1 % by verdict', to: 'per message, healthy', atLeast: 0.9 },
  { of: 'per message, 1 % by statement', to: 'per message, healthy', atLeast: 0.7 },
]
