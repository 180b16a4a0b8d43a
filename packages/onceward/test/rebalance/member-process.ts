import { defineConsumer, realSurroundings, runConsumer, type SourceDeclaration } from 'onceward'
import { type Memory, type WorkEvent, workContract } from './work.ts'

/** What a parent tells a member process; see `Member`. */
export interface MemberOrders {
  readonly name: string
  readonly databaseUrl: string
  readonly kafkaBootstrap: string
  readonly declaration: SourceDeclaration
  readonly memory: Memory
}

/** An attempt that stands in its handler, its write not committed. */
export interface Held {
  readonly event: WorkEvent
  readonly attempt: string
}

/** `hold`: stop in the next handler, after its write, and say so. `release`: go on. */
export type Order = 'hold' | 'release'

const orders = JSON.parse(process.env.MEMBER_ORDERS!) as MemberOrders
let wanted = false
let released = Promise.withResolvers<void>()

async function whileApplying(event: WorkEvent, attempt: string): Promise<void> {
  if (!wanted) return
  wanted = false
  process.send?.({ event, attempt } satisfies Held)
  await released.promise
}

process.on('message', (order: Order) => {
  if (order === 'release') return released.resolve()
  released = Promise.withResolvers()
  wanted = true
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
  world: realSurroundings({ log }),
})
process.once('SIGTERM', () => void running.drain(20_000))
process.send?.('running')
await running.finished
process.disconnect()
