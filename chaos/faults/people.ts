import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../../packages/onceward/src/testing/until.ts'
import { confirmed, contractFile, lastJson, mend, onceward, parkedHeads, query } from './operators.ts'
import type { Fault, Stage } from './stage.ts'
import { migrate } from './upgrade.ts'

/** Waits for a message that an operator can act on. */
async function oneHead(stage: Stage) {
  let heads: Awaited<ReturnType<typeof parkedHeads>> = []
  await until('a message is parked', async () => {
    stage.signal.throwIfAborted()
    heads = await parkedHeads(stage).catch(() => [])
    return heads.length > 0
  })
  return heads[0]!
}

const redrive: Fault = async stage => {
  const first = await oneHead(stage)
  const heads = [first, ...(await parkedHeads(stage)).filter(({ id }) => id !== first.id)].slice(0, 5)
  await mend(
    stage,
    heads.map(({ messageId }) => messageId),
  )
  const ids = heads.map(({ id }) => id)
  await onceward(stage, 'parked', 'redrive', ...ids, ...confirmed)
  return { ids }
}

const skip: Fault = async stage => {
  const { id, messageId } = await oneHead(stage)
  await onceward(stage, 'parked', 'skip', id, ...confirmed)
  return { id, messageId }
}

const fix: Fault = async stage => {
  const { id, messageId, body } = await oneHead(stage)
  const file = join(stage.folder, `fix-${id}.json`)
  writeFileSync(file, body.toString().replace('"failing"', '"apply"'))
  await onceward(stage, 'parked', 'fix', id, '--payload', file, '--contract', contractFile, ...confirmed)
  await onceward(stage, 'parked', 'redrive', id, ...confirmed)
  return { id, messageId }
}

/** On logs everything is read again; queues keep no history, so held messages are examined. */
const campaign: Fault = async stage => {
  const log = ['kafka', 'stream'].includes(stage.settings.cell.source)
  const what = log ? ['--mode', 'replay'] : ['--mode', 'forensic', '--held', 'parked,dead,quarantined']
  const created = await onceward(
    stage,
    'replay',
    'create',
    contractFile,
    ...what,
    '--because',
    'chaos',
    '--json',
  )
  const { id } = (lastJson(created) as { campaign: { id: string } }).campaign
  await onceward(stage, 'replay', 'preview', contractFile, String(id), '--json')
  await onceward(stage, 'replay', 'run', contractFile, String(id), '--json', '--wait', '30')
  return { id, log }
}

const oldMarkers = 20_000

/** Markers of last year are there to be removed while the consumer writes its own. */
const retention: Fault = async stage => {
  await query(
    stage,
    `insert into onceward.inbox (consumer_id, run_id, at, status, message_id, digest)
     select consumer_id, run_id, now() - interval '400 days', 'applied', 'old-' || md5(random()::text), digest
     from (select consumer_id, run_id, digest from onceward.inbox where message_id not like 'old-%' limit 1) one,
       generate_series(1, $1::int)`,
    [oldMarkers],
  )
  await onceward(stage, 'retention', 'run', contractFile, '--consumer', 'chaos', '--full-speed', '--json')
  const [{ left }] = (await query(
    stage,
    `select count(*)::int as left from onceward.inbox where message_id like 'old-%'`,
  )) as [{ left: number }]
  return { left }
}

export const people: Readonly<Record<string, Fault>> = { redrive, skip, fix, campaign, retention, migrate }
