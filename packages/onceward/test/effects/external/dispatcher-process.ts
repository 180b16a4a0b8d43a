import type { ExternalTarget, QueryAnswer } from '../../../src/contract/external-target.ts'
import { createPool } from '../../../src/drivers/postgres/pool.ts'
import { createDispatcher } from '../../../src/effects/external/dispatcher.ts'
import { realEnvironment } from '../../../src/runtime/real-environment.ts'

/** A dispatcher in a process of its own against the lying gateway, one target for each policy. */
const { url, gatewayUrl, consumerName } = JSON.parse(process.argv[2]!) as Record<string, string>
const traits = {
  allowPrivate: true,
  timeoutMs: 400,
  retryDelayMs: 5,
  retryDelayMaxMs: 50,
  attemptsMax: 60,
  concurrencyMax: 3,
  breaker: false,
} as const

const targets: Record<string, ExternalTarget> = {
  keyed: { ...traits, url: `${gatewayUrl}/keyed` },
  forgetful: { ...traits, url: `${gatewayUrl}/forgetful`, keyLifetimeMs: 2_000 },
  keyless: {
    ...traits,
    url: `${gatewayUrl}/keyless`,
    keyHeader: null,
    policy: 'query first',
    queryDelayMs: 600,
    query: async ({ key }, { signal }) => {
      const response = await fetch(`${gatewayUrl}/keyless?key=${key}`, { signal })
      return (await response.text()) as QueryAnswer
    },
  },
  once: { ...traits, url: `${gatewayUrl}/once`, keyHeader: null, policy: 'at most once' },
}

const pool = createPool(url!)
const env = realEnvironment()
const dispatcher = createDispatcher({
  pool,
  targets,
  consumerName: consumerName!,
  env,
  instance: 'child',
  leaseMs: 1_000,
})
process.on('SIGTERM', async () => {
  await dispatcher.drain()
  process.stdout.write(JSON.stringify(dispatcher.tally))
  await pool.end()
})
await dispatcher.start()
