import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createPool } from 'onceward/postgres'

const cli = fileURLToPath(new URL('../../packages/onceward/src/cli/main.ts', import.meta.url))
const contract = fileURLToPath(new URL('invoice-booking.ts', import.meta.url))
const consumer = 'invoice_booking'

/** The two people on call, each with a login of their own. */
export interface OnCall {
  readonly ann: string
  readonly bob: string
}

// biome-ignore lint/suspicious/noExplicitAny: shaped by the command
type Answer = any
type Say = (line: string) => void

/**
 * The incident, from the alert to the last booking, with nothing but the commands an operator has. Each step
 * is what a runbook would say; refusals are part of it.
 */
export async function drill({ ann, bob }: OnCall, say: Say = () => {}): Promise<void> {
  const as = (url: string) => (args: string) => onceward(url, args, say)
  const [annDoes, bobDoes] = [as(ann), as(bob)]

  say('# the alert says: messages are parked. How many, and why?')
  const { groups } = await annDoes(`parked groups --consumer ${consumer}`)
  const causeOf = (code: string) => groups.find((group: Answer) => group.code === code).cause

  say('# the account "south" was never opened: Ann takes it, Bob opens it, she records the fix')
  const south = await annDoes(`parked list --consumer ${consumer} --cause ${causeOf('no_account')}`)
  const { id: southId } = south.rows[0]
  await annDoes(`parked show ${southId}`)
  await annDoes(`parked classify ${southId} --consumer ${consumer} --label master-data --assignee ann`)
  const business = createPool(ann, { max: 1 })
  await business.query(`insert into account (id) values ('south')`).finally(() => business.end())
  await annDoes(`parked fix ${southId} --consumer ${consumer} --because account-opened`)

  say('# she looks at exactly what would move, and moves that')
  const which = `--consumer ${consumer} --cause ${causeOf('no_account')} --because account-opened`
  const preview = await annDoes(`parked redrive ${which} --dry-run`)
  await annDoes(`parked redrive ${which} --expect ${preview.digest} --id drill-south --rate 100`)
  say('# given twice, the order moves nothing twice')
  await annDoes(`parked redrive ${which} --expect ${preview.digest} --id drill-south --rate 100`)

  say('# one invoice of "east" is in dollars: the sender confirms euros')
  const wrong = await annDoes(`parked list --consumer ${consumer} --cause ${causeOf('wrong_currency')}`)
  const numberOf = (messageId: string) =>
    wrong.rows.find((row: Answer) => row.messageId === messageId).id as string
  const file = join(tmpdir(), `east-1-${process.pid}.json`)
  writeFileSync(
    file,
    JSON.stringify({ messageId: 'east-1', accountId: 'east', currency: 'EUR', amount: 100 }),
  )
  const fix = `parked fix ${numberOf('east-1')} --consumer ${consumer} --payload ${file} --contract ${contract} --because sender-confirmed`
  await annDoes(`${fix} --dry-run`)
  const { approval: looked } = await annDoes(fix)
  say('# the booking has changed, so a second person reviews it before the redrive')
  await refused(annDoes(`parked approve ${looked.id} --expect ${looked.digest} --because read-the-invoice`))
  await bobDoes(`parked show ${numberOf('east-1')}`)
  await bobDoes(`parked approve ${looked.id} --expect ${looked.digest} --because read-the-invoice`)
  await annDoes(
    `parked redrive ${numberOf('east-1')} --consumer ${consumer} --because sender-confirmed --id drill-east`,
  )

  say('# the test invoice of "west" is given up, with a reason; the one behind it goes on')
  await annDoes(`parked skip ${numberOf('west-1')} --consumer ${consumer} --because a-test-of-the-sender`)

  say('# and one carries a passport number: it must go, which takes two')
  const personal = await waitFor(annDoes, 'west-3')
  const { approval } = await annDoes(
    `parked delete ${personal} --consumer ${consumer} --because personal-data`,
  )
  await refused(annDoes(`parked approve ${approval.id} --expect ${approval.digest} --because personal-data`))
  await bobDoes(`parked approve ${approval.id} --expect ${approval.digest} --because personal-data`)
  await annDoes(`parked erase ${approval.id} --consumer ${consumer}`)

  say('# nothing is parked any more, and the chain of what was done holds')
  await annDoes(`parked groups --consumer ${consumer}`)
  await annDoes('parked result drill-south')
  await bobDoes('audit verify')
}

/** Released behind the skipped one, it is tried and parked for a reason of its own. */
async function waitFor(does: (args: string) => Promise<Answer>, messageId: string): Promise<string> {
  for (;;) {
    const { rows } = await does(`parked list --consumer ${consumer} --message ${messageId}`)
    const own = rows.find((row: Answer) => row.code !== 'behind_parked')
    if (own !== undefined) return own.id
  }
}

async function refused(act: Promise<Answer>): Promise<void> {
  const { ok } = await act
  if (ok) throw new Error('this should have been refused')
}

function onceward(url: string, args: string, say: Say): Promise<Answer> {
  say(`$ onceward ${args}`)
  const env = { ...process.env, ONCEWARD_DATABASE_URL: url }
  const words = ['--conditions=@onceward/source', cli, ...args.split(' '), '--json']
  return new Promise((resolve, reject) => {
    execFile(process.execPath, words, { env, maxBuffer: 1 << 24 }, (error, stdout) => {
      if (stdout === '') return reject(error)
      say(stdout.trim().slice(0, 300))
      resolve(JSON.parse(stdout))
    })
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await drill({ ann: process.env.ANN_DATABASE_URL!, bob: process.env.BOB_DATABASE_URL! }, console.log)
