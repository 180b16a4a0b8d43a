import { appendFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { balances, broken, type Exhibit, payments } from './broken.ts'

export default broken('file_writer', async ({ message, tx }) => {
  await appendFile(join(tmpdir(), `onceward-gallery-${process.pid}.csv`), `${message.id},${message.amount}\n`)
  await tx.query('insert into booking values ($1, $2, $3)', [message.id, message.account, message.amount])
})

export const exhibit: Exhibit = {
  mistake: 'the handler appends to a file',
  tables: balances,
  samples: payments.slice(0, 1),
  only: [],
  says: /writes the file .*onceward-gallery/,
}
