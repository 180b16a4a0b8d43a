import assert from 'node:assert/strict'
import { until } from 'onceward/testing'
import type { ExternalTarget, HttpTarget } from '../../../src/contract/external-target.ts'
import {
  createDispatcher,
  type Dispatcher,
  type DispatcherOptions,
} from '../../../src/effects/external/dispatcher.ts'
import { realEnvironment } from '../../../src/runtime/real-environment.ts'
import { type Behaviour, Gateway } from '../gateway.ts'
import { openScene } from '../scene.ts'

/**
 * Calls that get an answer have ample time for it, even on a busy machine; only those that get none are cut
 * short.
 */
export const quick = { timeoutMs: 6_000, retryDelayMs: 1, retryDelayMaxMs: 20 }
export const impatient = { timeoutMs: 2_000 }

/** A database, a gateway, and dispatchers in this process. */
export async function openRig() {
  const scene = await openScene()
  const gateways: Gateway[] = []
  const started: Dispatcher[] = []
  let consumers = 0
  const openGateway = async () => {
    const gateway = await new Gateway().open()
    gateways.push(gateway)
    return gateway
  }
  const gateway = await openGateway()
  const nextConsumer = () => `payments_${++consumers}`

  async function startWith(
    consumerName: string,
    target: ExternalTarget,
    options: Partial<DispatcherOptions> = {},
  ): Promise<Dispatcher> {
    const dispatcher = createDispatcher({
      pool: scene.pool,
      targets: { gateway: target },
      consumerName,
      env: realEnvironment(),
      instance: 'test',
      leaseMs: 8_000,
      ...options,
    })
    started.push(dispatcher)
    await dispatcher.start()
    return dispatcher
  }

  const start = (
    consumerName: string,
    target: Partial<HttpTarget> = {},
    options: Partial<DispatcherOptions> = {},
  ) => startWith(consumerName, { url: gateway.url, allowPrivate: true, ...quick, ...target }, options)

  return {
    scene,
    gateway,
    openGateway,
    nextConsumer,
    start,
    startWith,
    /** Runs one intent through these behaviours until no dispatcher leases it again. */
    async settle(target: Partial<HttpTarget>, ...behaviours: Behaviour[]) {
      const consumer = nextConsumer()
      const key = `${consumer}-key`
      gateway.plan(key, ...behaviours)
      await scene.intend(consumer, [key])
      const dispatcher = await start(consumer, target)
      await until(`${key} settles`, async () => (await scene.row(consumer, key)).due === 'infinity')
      await dispatcher.drain()
      const calls = gateway.callsFor(key)
      assert.ok(
        calls.every(call => call.body === calls[0]?.body),
        'the same bytes every time',
      )
      return { row: await scene.row(consumer, key), calls, charged: gateway.charges.has(key), dispatcher }
    },
    async close() {
      for (const dispatcher of started) dispatcher.leave()
      for (const one of gateways) one.close()
      await scene.close()
    },
  }
}

export type Rig = Awaited<ReturnType<typeof openRig>>
