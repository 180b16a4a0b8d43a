import invoiceBooking from '../../../../examples/09-parking-drill/invoice-booking.ts'
import { serveConsole } from '../../src/server/serve-console.ts'

// A console in a process of its own, so that a test can kill it. Prints a link for the person.
const [database, person, port = '0'] = process.argv.slice(2)
const served = await serveConsole({
  database: database!,
  port: Number(port),
  auth: { kind: 'link' },
  contracts: [invoiceBooking as never],
})
process.stdout.write(`${served.linkFor(person!)}\n`)
