import { type ConsumerContract, defineConsumer, realEnvironment, runConsumer } from 'onceward'
import { file } from 'onceward/file'

/** What a parent tells a process that reads files; see `kill.test.ts`. */
export interface ReaderOrders {
  readonly databaseUrl: string
  readonly pattern: string
  readonly until: 'forever' | 'end'
  readonly remembers: 'marker' | 'checkpoint'
}

const { databaseUrl, pattern, until, remembers } = JSON.parse(process.env.READER_ORDERS!) as ReaderOrders

const contract: ConsumerContract<{ id: string }> = {
  name: `reader_${remembers}`,
  owner: 'tests',
  risk: 'money',
  source: file(pattern, { until, pollMaxMs: 100, rotationMs: 0 }),
  identity: { id: message => message.id },
  order: 'partition',
  dedup: remembers,
  failure: { deadLetter: { passingAcceptedBy: 'head of testing' } },
  batch: { sizeMax: 10, deliveriesMax: 40 },
  async handle({ message, tx }) {
    await tx.query(
      'insert into effect (id, times) values ($1, 1) on conflict (id) do update set times = effect.times + 1',
      [message.id],
    )
  },
}

const running = await runConsumer(defineConsumer(contract), { databaseUrl, env: realEnvironment() })
process.send?.('running')
await running.finished
process.disconnect?.()
