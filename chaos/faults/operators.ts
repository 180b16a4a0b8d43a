import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { until } from '../../packages/onceward/src/testing/until.ts'
import { runCommand } from '../../scripts/services/run-command.ts'
import { consumerName, operatorEnvironment } from '../processes/settings.ts'
import type { Stage } from './stage.ts'

const cli = fileURLToPath(new URL('../../packages/onceward/src/cli/main.ts', import.meta.url))
export const contractFile = fileURLToPath(new URL('../processes/contract.ts', import.meta.url))
export const confirmedConsumer = ['--consumer', consumerName]
export const confirmed = [...confirmedConsumer, '--because', 'chaos']

/** Runs `onceward …` as an operator would. Gives its output, or throws with it. */
export async function onceward(stage: Stage, ...args: string[]): Promise<string> {
  const { code, output } = await run(stage, args)
  if (code === 0) return output
  throw new Error(`onceward ${args.join(' ')} ended with ${code}: ${output.slice(-600)}`)
}

async function run({ settings, log }: Stage, args: string[]) {
  const { code, output } = await runCommand(process.execPath, [...process.execArgv, cli, ...args], {
    env: operatorEnvironment(settings),
    timeoutMs: 90_000,
  })
  log.add('command', { args, code, ...(code !== 0 && { output: output.slice(-2_000) }) })
  return { code, output }
}

/** The object that a command printed, after what it said on stderr. */
export function lastJson(output: string): Record<string, unknown> {
  const at = output.startsWith('{') ? 0 : output.lastIndexOf('\n{') + 1
  return JSON.parse(output.slice(at)) as Record<string, unknown>
}

export async function query(stage: Pick<Stage, 'settings'>, sql: string, values: unknown[] = []) {
  const client = new pg.Client({
    connectionString: stage.settings.outside.databaseUrl,
    connectionTimeoutMillis: 10_000,
    query_timeout: 30_000,
  })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql, values)).rows
  } finally {
    await client.end().catch(() => {})
  }
}

/** After a failover consumers halt until an operator accepts the server. */
export async function acceptServer(stage: Stage): Promise<string> {
  let open: string | null = null
  const isNoticed = async () => {
    stage.signal.throwIfAborted()
    // Exit code 1 while a copy waits to be accepted.
    const { code, output } = await run(stage, ['restore', '--json'])
    if (code !== 0 && code !== 1) return false
    open = (lastJson(output).open as { id: string } | null)?.id ?? null
    return open !== null
  }
  await until('the failover is noticed', isNoticed, { deadlineMs: 300_000 })
  await onceward(stage, 'restore', 'accept', String(open), '--because', 'chaos')
  return String(open)
}

/** Parked messages that nothing precedes. */
export async function parkedHeads(stage: Stage): Promise<{ id: string; messageId: string; body: Buffer }[]> {
  const rows = await query(
    stage,
    `select id::text, message_id as "messageId", body from onceward.held
     where state = 'parked' and code <> 'behind_parked' order by id`,
  )
  return rows
}

/** From now on these messages do not fail any more. */
export async function mend(stage: Stage, messageIds: readonly string[]): Promise<void> {
  await query(stage, 'insert into mended select unnest($1::text[]) on conflict do nothing', [messageIds])
}
