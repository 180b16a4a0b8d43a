import { writeSync } from 'node:fs'
import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import type { CrashPoint, Reach } from '../../crash-points.ts'
import type { Log } from '../../environment.ts'
import { errorText } from '../../errors.ts'
import type { Store } from '../../ports/store.ts'
import { loadConsumer, loadStore } from '../../runtime/load-consumer.ts'
import { realEnvironment } from '../../runtime/real-environment.ts'
import { type Running, runConsumer } from '../../runtime/run-consumer.ts'
import { describeContract } from './describe.ts'
import { callCount, noteStatement, outsideHandlers } from './handler-calls.ts'
import { installHandlerEnvironment } from './handler-environment.ts'
import type { ChildMessage, ChildObservation, ChildOrders, Leak, Trigger } from './orders.ts'
import { runCampaignHere } from './run-campaign.ts'
import { verifiedConsumer } from './verified-consumer.ts'
import { watchOutside } from './watch-outside.ts'
import { openTransactions, watchStatements } from './watch-statements.ts'

/** Resolves when the message has left the process: a disconnect would cut a long one off. */
export type SendToParent = (message: ChildMessage) => Promise<void>

/** Carries out the parent's orders in this process. */
export async function carryOut(orders: ChildOrders, send: SendToParent): Promise<void> {
  setAddresses(orders.databaseUrl)
  const watch = new ChildWatch(orders)
  if (orders.task !== 'describe') watch.install()
  const consumer = await loadConsumer(orders.file, orders.policy === null ? {} : { policy: orders.policy })
  if (orders.task === 'describe') {
    await send({ kind: 'facts', facts: await describeContract(consumer, orders.samples) })
    return end()
  }
  const store = await loadStore(orders.file)
  const verified = verifiedConsumer(consumer, orders, id => watch.leaked({ kind: 'nothing done', what: id }))
  if (orders.task !== 'run') await runCampaignHere(verified, orders, store, watch.environment)
  else await run(verified, orders, store, watch, send)
  await send({ kind: 'observed', observed: watch.observed() })
  end()
}

const end = () => process.disconnect?.()

async function run(
  consumer: Consumer<unknown, SqlTransaction>,
  { databaseUrl }: ChildOrders,
  store: Store<SqlTransaction> | undefined,
  watch: ChildWatch,
  send: SendToParent,
): Promise<void> {
  const running: Running = await runConsumer(consumer, {
    databaseUrl,
    ...(store && { store }),
    parts: ['consumer', 'worker'],
    isolated: true,
    instance: `verify ${process.pid}`,
    env: watch.environment,
  })
  const drained = new Promise<void>(resolve => process.once('message', () => resolve()))
  running.finished.catch(error => void send({ kind: 'failed', error: errorText(error, 2_000) }))
  await send({ kind: 'running' })
  await drained
  await running.drain(5_000).catch(() => {})
}

/** Handlers that open a connection of their own reach the scratch database too, never another one. */
function setAddresses(url: string): void {
  const { hostname, port, username, password, pathname } = new URL(url)
  Object.assign(process.env, {
    ONCEWARD_DATABASE_URL: url,
    DATABASE_URL: url,
    PGHOST: hostname,
    PGPORT: port,
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: pathname.slice(1),
  })
  for (const name of ['ONCEWARD_DATABASE_URL_FILE', 'ONCEWARD_ENVIRONMENT', 'ONCEWARD_RABBITMQ_URL'])
    delete process.env[name]
}

/** Counts what passes in this process, and causes the fault when its moment comes. */
class ChildWatch {
  readonly #orders: ChildOrders
  readonly #points: Record<string, number> = {}
  readonly #statements: string[] = []
  readonly #leaks: Leak[] = []
  readonly environment

  constructor(orders: ChildOrders) {
    this.#orders = orders
    const reach: Reach = point => this.#reached(point)
    const real = realEnvironment({ reach, log: this.#log() })
    // Our own code may read the clock while a handler waits for it.
    const clock = { nowMs: () => outsideHandlers(() => real.clock.nowMs()) }
    this.environment = { ...real, clock }
  }

  install(): void {
    const { file, databaseUrl, handlerEnvironment, stubPort, allowed } = this.#orders
    const onLeak = (leak: Leak) => this.leaked(leak)
    if (handlerEnvironment !== null) installHandlerEnvironment(handlerEnvironment)
    watchStatements(file, {
      onLeak,
      onAnswered: text => this.#answered(text),
    })
    const { hostname, port } = new URL(databaseUrl)
    const known = [`${hostname}:${port}`, `127.0.0.1:${stubPort}`, ...allowed]
    watchOutside({ onLeak, stubPort, allowed: new Set(known) })
  }

  observed(): ChildObservation {
    const open = openTransactions().map(what => ({ kind: 'open transaction', what }) as const)
    return {
      points: this.#points,
      statements: this.#statements,
      leaks: [...this.#leaks, ...open],
      calls: callCount(),
    }
  }

  #reached(point: CrashPoint): void {
    const passages = (this.#points[point] ?? 0) + 1
    this.#points[point] = passages
    this.#causeFault({ on: 'point', point, hit: passages })
  }

  #answered(text: string): void {
    noteStatement()
    this.#statements.push(text.trim().replaceAll(/\s+/g, ' ').slice(0, 160))
    this.#causeFault({ on: 'statement', number: this.#statements.length })
  }

  #causeFault(now: Trigger): void {
    const { trigger, action } = this.#orders
    if (trigger === null || !isSame(trigger, now)) return
    writeSync(3, `${action}\n`)
    process.kill(process.pid, action === 'die' ? 'SIGKILL' : 'SIGSTOP')
    // The signal may take a moment: no further instruction of the process may count.
    if (action === 'die') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
  }

  leaked(leak: Leak): void {
    if (!this.#leaks.some(known => known.kind === leak.kind && known.what === leak.what))
      this.#leaks.push(leak)
  }

  #log(): Log {
    const note = (message: string, fields: Readonly<Record<string, unknown>> = {}) => {
      if (message.startsWith('tx used after the handler returned'))
        this.leaked({ kind: 'late statement', what: String(fields.statement) })
      if (process.env.ONCEWARD_VERIFY_DEBUG) process.stderr.write(`${message} ${JSON.stringify(fields)}\n`)
    }
    return { debug() {}, info: note, warn: note, error: note }
  }
}

function isSame(a: Trigger, b: Trigger): boolean {
  if (a.on === 'point') return b.on === 'point' && a.point === b.point && a.hit === b.hit
  return b.on === 'statement' && a.number === b.number
}
