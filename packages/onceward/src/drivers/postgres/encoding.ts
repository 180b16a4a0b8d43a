import { OncewardError } from '../../errors.ts'
import type { SqlClient } from './pool.ts'

/**
 * Another encoding cannot hold every id, key and reason that a message may carry. The server rejects the row
 * (LATIN1), or stores bytes that it reads as other text (SQL_ASCII), so two ids become one or one becomes
 * two.
 */
export async function assertUtf8(client: SqlClient): Promise<void> {
  const { rows } = await client.query(
    `select current_setting('server_encoding') as server, current_setting('client_encoding') as client,
       current_database() as database`,
  )
  const { server, client: session, database } = rows[0] as Record<string, string>
  if (server !== 'UTF8')
    throw new OncewardError(
      'configuration',
      `The encoding of database "${database}" is ${server}; Onceward needs UTF8, because messages and their ids may hold any character. Nothing was started and nothing was changed. Create a database with "create database … encoding 'UTF8' template template0" and move the tables there.`,
    )
  if (session !== 'UTF8')
    throw new OncewardError(
      'configuration',
      `The connections to database "${database}" use client_encoding ${session}; Onceward needs UTF8. Nothing was started and nothing was changed. Remove the setting from the pool or its connect hook.`,
    )
}
