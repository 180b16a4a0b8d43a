import { randomFill, randomFillSync, randomInt } from 'node:crypto'
import { promisify } from 'node:util'
import { broken, type Exhibit, payments } from './broken.ts'

const filled = promisify<Uint8Array, number, number, Uint8Array>(randomFill)

export default broken('other_clocks', async ({ message, tx }) => {
  const [seconds] = process.hrtime()
  await tx.query('insert into mark values ($1, $2, $3, $4, $5, $6, $7)', [
    message.id,
    randomInt(1, 1_000_000),
    randomFillSync(Buffer.alloc(8)).toString('hex'),
    Buffer.from(await filled(new Uint8Array(8), 2, 6)).toString('hex'),
    seconds,
    process.hrtime.bigint(),
    performance.now(),
  ])
})

export const exhibit: Exhibit = {
  mistake: 'what a row says comes from clocks and random numbers that a retry reads again',
  tables: `create table mark (id text, number integer unique, filled text, later text, seconds bigint,
    nanoseconds numeric, elapsed double precision)`,
  samples: payments,
  only: [],
  warns: /The row key mark\.number comes from the clock or from random numbers of the handler/,
}
