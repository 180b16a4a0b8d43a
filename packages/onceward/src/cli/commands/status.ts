import { Command } from 'commander'
import { readRates } from '../../telemetry/consumer-detail.ts'
import { readStatus } from '../../telemetry/read-status.ts'
import { withPool } from '../database.ts'
import { print } from '../output.ts'
import { statusText } from './status/status-text.ts'

export function statusCommand(): Command {
  return new Command('status')
    .description('show consumers, held work, external effects, outbox and queues of the database')
    .option('--json', 'print one JSON object')
    .action((options: { json?: boolean }) =>
      withPool(options.json === true, async pool => {
        const status = await readStatus(pool)
        const rates = await readRates(pool)
        print(options.json === true, { ok: true, ...status, rates }, () => statusText(status, rates))
      }),
    )
}
