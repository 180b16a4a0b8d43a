import { pipelines, type SqlClient, type SqlPool, type SqlResult } from './pool.ts'
import { setRoleSettings } from './role-settings.ts'

/** A table that a migration locks is waited for briefly, then the transaction is retried. */
export const begin = `begin; set local lock_timeout = '5s'; ${setRoleSettings}`

/** The same with additional settings. */
export function opening(settings: Readonly<Record<string, string>>): string {
  return `${begin}; ${setLocal(settings)}`
}

export function setLocal(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `set local ${name} = '${value}'`)
    .join('; ')
}

/** One short transaction. */
export function inTransaction<T>(pool: SqlPool, work: (client: SqlClient) => Promise<T>): Promise<T> {
  return withClient(pool, async client => {
    await client.query(begin)
    const result = await work(client)
    await client.query('commit')
    return result
  })
}

/** A transaction of one statement, sent in one round trip if the pool supports it. */
export function pipelined(
  pool: SqlPool,
  opening: string,
  text: string,
  values: readonly unknown[],
): Promise<SqlResult> {
  return withClient(pool, async client => {
    if (!pipelines(pool)) {
      await client.query(opening)
      const answer = await client.query(text, values)
      await client.query('commit')
      return answer
    }
    const sent = [client.query(opening), client.query(text, values), client.query('commit')]
    await Promise.allSettled(sent)
    const [, answer] = await Promise.all(sent)
    return answer!
  })
}

/** After any error the connection is closed, not rolled back. */
async function withClient<T>(pool: SqlPool, work: (client: SqlClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  client.on('error', ignoreError)
  let failed = true
  try {
    const result = await work(client)
    failed = false
    return result
  } finally {
    client.removeListener('error', ignoreError)
    client.release(failed)
  }
}

/** A lost connection also emits this event; without a listener it would end the process. */
function ignoreError(): void {}
