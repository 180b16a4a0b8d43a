import { type ConsumerContract, type DeclaredEffect, ignore, projection } from 'onceward'
import { file } from 'onceward/file'
import { topic } from 'onceward/kafka'
import { postgresQueue } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { stream } from 'onceward/rabbitmq-stream'
import type { Combination } from './dimensions.ts'

/** A fact about a key. `plan` says what its handler does: nothing, fail once, fail always. */
export interface Fact {
  readonly id: string
  readonly key: string
  readonly version: number
  readonly plan?: 'ignore' | 'fail once' | 'fail always'
}
export type FactContract = ConsumerContract<Fact, unknown>

/** Sends a text on the handle that this store gives to handlers. */
export type Send = (tx: unknown, text: string) => Promise<unknown>

const brokenOnce = () => Object.assign(new Error('the first try'), { code: 'ECONNRESET' })

/** `place` is the queue, stream, topic or path; `table` what the effect writes to. */
export function contractOf(
  combination: Combination,
  { name, place, table, send }: { name: string; place: string; table: string; send: Send },
): FactContract {
  const { mode, inbox, failure, dedup, order } = combination
  const tried = new Set<string>()
  return {
    name,
    owner: 'tests',
    risk: 'low value',
    source: sourceOf(combination, place),
    identity: { id: fact => fact.id, orderKey: fact => fact.key, aggregateId: fact => fact.key },
    order,
    dedup,
    // Small batches: a message that overtakes an earlier one of its key is in another batch.
    batch: { sizeMax: 2, inFlightMax: 3 },
    inbox: { mode: inbox },
    failure: { mode: failure, attemptsMax: 2, delayMs: 1, delayMaxMs: 2 },
    replay: {
      ...(mode !== 'live' && { modes: [mode] }),
      // Without an order the column "after" is another each time.
      ...(dedup !== 'version' && {
        tables: [table],
        compare: { [table]: { columns: ['version', 'times'] } },
      }),
    },
    effect: {
      external: { gateway: { kind: 'http', url: 'https://gateway.example/', policy: 'keyed' } },
      ...(dedup === 'version' && { apply: failingOnce(board(table), tried) }),
    },
    ...(dedup !== 'version' && {
      async handle({ message, tx, effects }) {
        if (message.plan === 'ignore') return ignore('the plan says so')
        if (message.plan === 'fail always') throw new Error('never')
        if (message.plan === 'fail once' && !tried.has(message.id)) {
          tried.add(message.id)
          throw brokenOnce()
        }
        await send(tx, insertion(table, message))
        effects.external('gateway', { key: `${name} ${message.id}`, body: message })
      },
    }),
  }
}

/**
 * `after` is the newest version of the key that was there before: under an order it is always the one before.
 */
const insertion = (table: string, { id, key, version }: Fact) =>
  `insert into ${table} (id, key, version, after)
   values ('${id}', '${key}', ${version}, (select max(version) from ${table} where key = '${key}'))
   on conflict (id) do update set times = ${table}.times + 1`

const board = (table: string) =>
  projection<Fact>({
    table,
    key: { id: 'key' },
    version: { version: 'version' },
    columns: { key: readKey },
    gap: 'accept latest',
  })

/** A field that cannot be read is the failure of a projection that no later try ends. */
function readKey({ key, plan }: Fact): string {
  if (plan === 'fail always') throw new Error('never')
  return key
}

function failingOnce(effect: DeclaredEffect<Fact>, tried: Set<string>): DeclaredEffect<Fact> {
  return {
    ...effect,
    apply: async context => {
      const failing = context.batch.find(({ message }) => message.plan === 'fail once')
      if (failing !== undefined && !tried.has(failing.message.id)) {
        tried.add(failing.message.id)
        throw brokenOnce()
      }
      return effect.apply(context)
    },
  }
}

function sourceOf({ source, order }: Combination, place: string) {
  switch (source) {
    case 'rabbitmq':
      return queue(place, { singleActiveConsumer: order === 'key' })
    case 'rabbitmq-stream':
      return stream(place, { start: 'first' })
    case 'kafka':
      return topic(place, { start: 'earliest', sessionTimeoutMs: 10_000 })
    case 'postgres':
      return postgresQueue(place, { keyOrder: order === 'key' })
    case 'file':
      return file(place, { standbyMs: 300, rotationMs: 0, pollMaxMs: 100 })
  }
}
