import { defineConsumer, type SqlTransaction } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import { StatementRequested } from './messages.ts'
import { render } from './renderer.ts'
import { readSettings, type Settings } from './settings.ts'

export function statementRendering({ queue, renderMs, leaseMs }: Settings) {
  return defineConsumer<StatementRequested, SqlTransaction>({
    name: 'statement_rendering',
    owner: 'statements',
    risk: 'regulatory',
    source: postgresQueue(queue, { keyOrder: true }),
    message: StatementRequested,
    identity: { id: m => m.messageId, orderKey: m => m.accountId },
    order: 'key',
    // A message is acknowledged as soon as it is stored. Each process renders eight at a time.
    inbox: { mode: 'stored', leaseMs, workers: 8 },
    // Stored mode runs one message per transaction. This time-out covers the slowest message.
    batch: { handlerTimeoutMs: 120_000 },
    failure: { attemptsMax: 5, delayMs: 1_000 },
    // By its risk. The queue is in the same database: its messages keep their markers.
    retention: {},
    async handle({ message, tx, signal }) {
      const text = await render(message, renderMs, signal)
      await tx.query(
        `insert into statement (account_id, month, number, text)
         select $1, $2, 1 + count(*), $3 from statement where account_id = $1`,
        [message.accountId, message.month, text],
      )
    },
  })
}

export default statementRendering(readSettings())
