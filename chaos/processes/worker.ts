import { flushCompileCache } from 'node:module'
import { type Part, realEnvironment, runConsumer } from 'onceward'
import { chaosConsumer } from './contract.ts'
import { endWithParent, readSettings, report } from './settings.ts'

const partsOf: Record<string, readonly Part[]> = {
  consumer: ['consumer'],
  worker: ['worker'],
  dispatcher: ['dispatcher'],
  relay: ['relay', 'retention'],
}

/** One process of the consumer, as `onceward run --part` would start it. */
async function work(instance: string): Promise<void> {
  const settings = readSettings()
  const { databaseUrl, rabbitmqUrl, rabbitmqStreamUrl, kafkaBootstrap } = settings.inside
  const running = await runConsumer(chaosConsumer(settings, instance), {
    databaseUrl,
    rabbitmqUrl: rabbitmqUrl ?? undefined,
    rabbitmqStreamUrl: rabbitmqStreamUrl ?? undefined,
    kafkaBootstrap: kafkaBootstrap ?? undefined,
    parts: partsOf[instance.split('-')[0]!]!,
    instance,
    dispatcherLeaseMs: 3_000,
    relayLeaseMs: 3_000,
    env: realEnvironment({ log: logToStderr() }),
  })
  process.on('message', () => void running.drain(20_000).catch(() => {}))
  report({ kind: 'ready' })
  // Node writes the cache at exit, which a killed process never reaches.
  flushCompileCache()
  await running.finished
}

function logToStderr() {
  const write =
    (level: string) =>
    (message: string, fields: object = {}) =>
      void process.stderr.write(`${new Date().toISOString()} ${level} ${message} ${JSON.stringify(fields)}\n`)
  return { debug() {}, info: write('info'), warn: write('warn'), error: write('error') }
}

endWithParent()
try {
  await work(process.argv[2]!)
  process.disconnect()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  report({ kind: 'halted', code: (error as { code?: string }).code ?? String(error), text: String(error) })
  process.exitCode = 70
  process.disconnect()
}
