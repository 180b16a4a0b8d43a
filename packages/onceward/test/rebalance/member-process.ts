import { defineConsumer, realEnvironment, runConsumer, type SourceDeclaration } from 'onceward'
import type { CrashPoint } from 'onceward/testing'
import { type Memory, type WorkEvent, workContract } from './work.ts'

/** What a parent tells a member process; see `Member`. */
export interface MemberOrders {
  readonly name: string
  readonly databaseUrl: string
  readonly kafkaBootstrap: string
  readonly declaration: SourceDeclaration
  readonly memory: Memory
}

/** An attempt whose write is not committed. */
export interface Held {
  readonly event: WorkEvent
  readonly attempt: string
}

/**
 * `hold`: stop in the next handler, after its write, and say so. `release`: go on. `freeze`: say so in the
 * next handler, and when its batch comes to the fence, freeze the whole process: once it is woken it acts
 * before it can learn anything.
 */
export type Order = 'hold' | 'freeze' | 'release'

const orders = JSON.parse(process.env.MEMBER_ORDERS!) as MemberOrders
let order: Order = 'release'
let freezesAtFence = false
let released = Promise.withResolvers<void>()

async function whileApplying(event: WorkEvent, attempt: string): Promise<boolean> {
  if (order === 'release') return !freezesAtFence
  const given = order
  order = 'release'
  process.send?.({ event, attempt } satisfies Held)
  if (given === 'freeze') freezesAtFence = true
  else await released.promise
  return false
}

function reach(point: CrashPoint): void {
  if (point !== 'batch.concluded' || !freezesAtFence) return
  freezesAtFence = false
  process.kill(process.pid, 'SIGSTOP')
}

process.on('message', (given: Order) => {
  order = given
  if (given === 'release') released.resolve()
  else released = Promise.withResolvers()
})

const log = {
  debug() {},
  info() {},
  warn: (message: string, fields?: object) => console.error('warn', message, JSON.stringify(fields)),
  error: (message: string, fields?: object) => console.error('error', message, JSON.stringify(fields)),
}
const { name, databaseUrl, kafkaBootstrap, declaration, memory } = orders
const contract = workContract({ declaration, memory, member: name, whileApplying })
const running = await runConsumer(defineConsumer(contract), {
  databaseUrl,
  kafkaBootstrap,
  parts: ['consumer'],
  instance: name,
  env: realEnvironment({ log, reach }),
})
process.once('SIGTERM', () => void running.drain(20_000))
process.send?.('running')
await running.finished
process.disconnect()
