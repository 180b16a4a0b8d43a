import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OncewardError } from 'onceward'
import { startEmbeddedPostgres } from 'onceward/embedded'
import { createPool, migrate } from 'onceward/postgres'
import { Child } from './child.ts'
import { Cleanup } from './cleanup.ts'
import { brokerOfRun } from './demo-broker.ts'
import { DemoScreen } from './demo-screen.ts'
import { gatherEvidence } from './evidence.ts'
import { findServers } from './find-servers.ts'
import { businessTables } from './payment-capture.ts'
import { planMessages } from './plan.ts'
import { ProgressReader } from './progress.ts'
import { runToTheEnd } from './run-to-the-end.ts'
import type { DemoBroker, DemoSettings } from './settings.ts'
import { reachVerdict, type Verdict, verdictText } from './verdict.ts'
import { createView, number } from './view.ts'
import { Workers } from './workers.ts'

export interface DemoOptions {
  readonly broker: DemoBroker
  readonly messages: number
  readonly json: boolean
  /** Serves the console, and stays until Ctrl-C after the verdict. */
  readonly console?: boolean | undefined
  /** Repeats the messages, the gateway's behaviour and the planned kills. Default random. */
  readonly seed?: number | undefined
}

const messagesMin = 200
const messagesMax = 500_000

/** Runs the demo and returns the exit code: 0 only if nothing was lost and nothing happened twice. */
export async function runDemo(options: DemoOptions): Promise<number> {
  const { messages } = options
  if (!Number.isSafeInteger(messages) || messages < messagesMin || messages > messagesMax) {
    throw new OncewardError(
      'usage',
      `--messages must be a whole number from ${messagesMin} to ${number(messagesMax)}. Nothing was started.`,
    )
  }
  const view = createView(options.json ? process.stderr : process.stdout)
  const cleanup = new Cleanup()
  try {
    const screen = new DemoScreen(view)
    const verdict = await cleanup.guard(stageRun(options, screen, cleanup))
    screen.end()
    if (verdict === null) return 130
    screen.decided(verdict)
    if (options.json) process.stdout.write(`${JSON.stringify(verdict)}\n`)
    else view.say(verdictText(verdict))
    if (options.console) {
      view.say('The console stays open. Ctrl-C ends it and removes everything.')
      await cleanup.guard(new Promise(() => {}))
    }
    return verdict.ok ? 0 : 1
  } finally {
    await cleanup.run()
  }
}

async function stageRun(options: DemoOptions, view: DemoScreen, cleanup: Cleanup): Promise<Verdict> {
  const began = performance.now()
  const seed = options.seed ?? Math.floor(Math.random() * 1e9)
  view.say(
    `Onceward demo: ${number(options.messages)} messages over ${brokerTitles[options.broker]}, seed ${seed}`,
  )
  const servers = await findServers(options.broker, line => view.say(line))
  const folder = mkdtempSync(join(tmpdir(), `onceward-demo-${seed}-`))
  cleanup.add(() => rmSync(folder, { recursive: true, force: true }))
  const databaseUrl = await startDatabase(folder, cleanup)
  const pool = createPool(databaseUrl, { max: 3 })
  cleanup.add(() => pool.end())
  await migrate(pool)
  await pool.query(businessTables)

  const heard: { progress?: ProgressReader } = {}
  const gatewayBook = join(folder, 'gateway.book')
  const gateway = new Child({
    program: 'gateway',
    args: [gatewayBook, String(seed)],
    onMessage: message => heard.progress?.heard(message),
  })
  cleanup.add(() => gateway.kill())
  const { url: gatewayUrl } = (await gateway.ready()) as unknown as { url: string }
  const settings: DemoSettings = {
    broker: options.broker,
    seed,
    messages: options.messages,
    produceMs: Math.max(6_000, Math.min(60_000, options.messages / 0.6)),
    queue: queueName(options.broker, seed),
    deadLetters: `${queueName(options.broker, seed)}.dead`,
    databaseUrl,
    ...servers,
    gatewayUrl,
    compileCache: process.env.NODE_COMPILE_CACHE ?? join(folder, 'compile-cache'),
    producerLog: join(folder, 'producer.log'),
    gatewayBook,
  }
  if (options.console) await openConsole(settings, view, cleanup)
  const broker = await brokerOfRun(settings, pool)
  cleanup.add(() => broker.remove())
  await broker.prepare()
  const workers = new Workers(settings, (name, pid) => view.killed(name, pid))
  cleanup.add(() => workers.leave())
  await workers.start()
  view.say(`Two consumers and a dispatcher run; the producer starts. Ready after ${secondsSince(began)} s.`)

  heard.progress = new ProgressReader(pool, workers, planned(settings))
  await runToTheEnd(settings, { workers, broker, view, progress: heard.progress, cleanup })
  await workers.drain()
  gateway.finish()
  await gateway.exited
  view.show(await heard.progress.read())
  const evidence = await gatherEvidence(settings, pool, broker)
  return reachVerdict(evidence, settings, workers, Number(secondsSince(began)))
}

/** Loaded only when it is asked for: the pages need the development tools once, to be built. */
async function openConsole(settings: DemoSettings, screen: DemoScreen, cleanup: Cleanup): Promise<void> {
  const { serveDemo } = await import('./demo-console.ts')
  const served = await serveDemo(settings, () => screen.headline())
  cleanup.add(() => served.close())
  screen.say(`The console, signed in once by this link:\n${served.signInUrl}`)
}

/** On an external server a queue outlives a killed demo, so its name must not collide with another run. */
function queueName(broker: DemoBroker, seed: number): string {
  const name = 'payment.capture.requested.q'
  return broker === 'postgres' ? name : `${name}.demo-${process.pid}-${seed}`
}

const brokerTitles: Readonly<Record<DemoBroker, string>> = {
  postgres: 'embedded PostgreSQL',
  rabbitmq: 'a RabbitMQ quorum queue and embedded PostgreSQL',
  stream: 'a RabbitMQ super stream and embedded PostgreSQL',
  kafka: 'a Kafka topic and embedded PostgreSQL',
}

async function startDatabase(folder: string, cleanup: Cleanup): Promise<string> {
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') })
  cleanup.add(async () => {
    await server.stop()
    // For root the data may be in another folder than requested.
    rmSync(server.dataDir, { recursive: true, force: true })
  })
  return server.url
}

function planned({ messages, seed }: DemoSettings) {
  const plan = planMessages(messages, seed)
  return { messages, captures: plan.filter(message => message.kind === 'first').length }
}

function secondsSince(began: number): string {
  return ((performance.now() - began) / 1_000).toFixed(1)
}
