import { flushCompileCache } from 'node:module'
import { realEnvironment, runConsumer } from 'onceward'
import { paymentCapture } from './payment-capture.ts'
import { endWithParent, readSettings, report, reportRegularly } from './settings.ts'

/** A consumer or a dispatcher, as `onceward run --part` would start it. It has no code for the kills. */
async function work(role: 'consumer' | 'dispatcher', instance: string): Promise<void> {
  const settings = readSettings()
  const running = await runConsumer(await paymentCapture(settings, instance), {
    databaseUrl: settings.databaseUrl,
    rabbitmqUrl: settings.rabbitmqUrl ?? undefined,
    rabbitmqStreamUrl: settings.rabbitmqStreamUrl ?? undefined,
    kafkaBootstrap: settings.kafkaBootstrap ?? undefined,
    parts: role === 'consumer' ? ['consumer', 'relay'] : ['dispatcher'],
    instance,
    // Short, so the calls of a killed dispatcher are taken over soon.
    dispatcherLeaseMs: 3_000,
    env: realEnvironment({ log: logToStderr() }),
  })
  const tally = () => ({ kind: 'tally', tally: running.consumer?.tally ?? null })
  process.on('message', () => void running.drain(20_000).catch(() => {}))
  reportRegularly(tally)
  report({ kind: 'ready' })
  // Node writes the cache at exit, which a killed process never reaches.
  flushCompileCache()
  await running.finished
  report(tally())
}

function logToStderr() {
  const write =
    (level: string) =>
    (message: string, fields: object = {}) =>
      void process.stderr.write(`${level} ${message} ${JSON.stringify(fields)}\n`)
  return { debug() {}, info() {}, warn: write('warn'), error: write('error') }
}

const [role, instance] = process.argv.slice(2) as ['consumer' | 'dispatcher', string]
endWithParent()
try {
  await work(role, instance)
  process.disconnect()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(1)
}
