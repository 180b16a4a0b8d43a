import { isDeepStrictEqual } from 'node:util'
import type { Consumer } from '../contract/define-consumer.ts'
import type { Mode } from '../contract/handler.ts'
import { silent } from '../environment.ts'
import { OncewardError } from '../errors.ts'
import { createMessageReader } from '../message/read-message.ts'
import type { Enrolment } from '../ports/enrolment.ts'
import type { Delivery } from '../ports/source.ts'
import type { Store } from '../ports/store.ts'

/** A handler, its store, and how to see what it changed. */
export interface RollbackProbe<Tx> {
  readonly store: Store<Tx>
  /** The handler, on a transaction that is always rolled back; see `handlerOn`. */
  readonly run: (tx: Tx) => unknown
  /** Everything the handler may have changed, read outside of any transaction: rows, calls made, files. */
  readonly observe: () => Promise<unknown>
}

/**
 * Runs a handler inside a transaction that is always rolled back, and compares the environment before and
 * after. A difference means that the handler wrote past `tx`. Such a write survives the rollback, and a retry
 * repeats it.
 */
export async function probeRollback<Tx>({ store, run, observe }: RollbackProbe<Tx>): Promise<void> {
  const before = await observe()
  const failure = await runAndRollBack(store, run)
  const after = await observe()
  if (!isDeepStrictEqual(before, after)) {
    throw new OncewardError(
      'tx_bypassed',
      'The transaction was rolled back, but a change of the handler remains: it bypassed `tx`. A retry would repeat it. Send every statement through `tx`, and request external calls with `effects.external`.',
      { details: { before, after } },
    )
  }
  if (failure !== undefined) throw failure.error
}

const probing: Enrolment = {
  consumerId: 0,
  runId: 0,
  facts: {
    name: 'rollback_probe',
    generation: 1,
    owner: 'test kit',
    risk: 'low value',
    mode: 'live',
    handlerVersion: 'probe',
    instance: 'probe',
    handlerTimeoutMs: 30_000,
    deliveriesMax: 1,
    dedup: 'marker',
    deadLetterTo: null,
  },
}

async function runAndRollBack<Tx>(
  store: Store<Tx>,
  run: (tx: Tx) => unknown,
): Promise<{ error: unknown } | undefined> {
  const rolledBack = new Error('rolled back on purpose')
  let failure: { error: unknown } | undefined
  const transaction = store.transaction(probing, async session => {
    const handlerTx = session.handlerTransaction()
    try {
      await run(handlerTx.tx)
    } catch (error) {
      failure = { error }
    }
    await handlerTx.idle()
    handlerTx.revoke()
    throw rolledBack
  })
  await transaction.catch(error => {
    if (error !== rolledBack) throw error
  })
  return failure
}

/** A consumer's handler on one message, ready to be probed. Requested effects are dropped. */
export function handlerOn<M, Tx>(
  consumer: Consumer<M, Tx>,
  message: Partial<Delivery> & Pick<Delivery, 'body'>,
  mode: Mode = 'live',
): (tx: Tx) => Promise<void> {
  const read = createMessageReader(consumer)
  return async tx => {
    const received = await read({ ...blank, ...message })
    if (!received.readable) {
      throw new OncewardError('usage', `The probe's message cannot be read: ${received.problem.text}.`)
    }
    const { message: value, envelope } = received
    const effects = {
      external() {},
      publish() {},
      call: async () => null,
      evidence() {},
      alreadyProcessed: async () => false,
    }
    const item = { message: value, envelope, effects, waited: null, run: probing.runId }
    const around = { tx, mode, signal: new AbortController().signal, log: silent }
    if (consumer.handle !== undefined) await consumer.handle({ ...around, ...item })
    else await consumer.handleBatch!({ ...around, batch: [item] })
  }
}

const blank: Delivery = {
  body: Buffer.alloc(0),
  headers: {},
  properties: {},
  origin: 'probe',
  position: null,
  partition: '',
  place: null,
  key: null,
  redelivered: false,
  deliveryCount: 0,
  token: null,
}
