import type { SqlTransaction, Store } from 'onceward'
import { createPool, createPortStore, createPostgresStore, type SqlPort } from 'onceward/postgres'
import { drizzleLibrary, knexLibrary, kyselyLibrary, type Library, userPool } from '../adapters/libraries.ts'
import type { Send } from './contract-of.ts'
import type { Combination } from './dimensions.ts'

export interface OpenStore {
  readonly store: Store<unknown>
  readonly send: Send
  close(): Promise<unknown>
}

export function openStore(kind: Combination['store'], url: string): OpenStore {
  switch (kind) {
    case 'pooled':
      return pooled(url)
    case 'port':
      return port(url)
    case 'Kysely':
      return ofLibrary(kyselyLibrary, url)
    case 'Drizzle':
      return ofLibrary(drizzleLibrary, url)
    case 'Knex':
      return ofLibrary(knexLibrary, url)
  }
}

function ofLibrary<Tx>(library: Library<Tx>, url: string): OpenStore {
  const { store, close } = library.open(url)
  return { store: store as Store<unknown>, send: (tx, text) => library.send(tx as Tx, text), close }
}

const sendQuery: Send = (tx, text) => (tx as SqlTransaction).query(text)

function pooled(url: string): OpenStore {
  const pool = createPool(url, { max: 6 })
  return {
    store: createPostgresStore({ pool }) as Store<unknown>,
    send: sendQuery,
    close: () => pool.end(),
  }
}

/** The least a library of one's own has to be. */
function port(url: string): OpenStore {
  const pool = userPool(url, { max: 6 })
  const own: SqlPort<SqlTransaction> = {
    dialect: 'postgres',
    query: (text, values = []) => pool.query(text, [...values]) as never,
    async transaction(isolation, work) {
      const client = await pool.connect()
      const query = (text: string, values: readonly unknown[] = []) =>
        client.query(text, [...values]) as Promise<never>
      try {
        await client.query(`begin isolation level ${isolation}`)
        const handle = (statements: Parameters<Parameters<typeof work>[0]['handle']>[0]) =>
          ({
            query: (text: string, values?: readonly unknown[]) =>
              statements.watch(text, () => query(text, values)),
          }) as SqlTransaction
        const result = await work({ query, handle })
        await client.query('commit')
        client.release()
        return result
      } catch (error) {
        await client.query('rollback').then(
          () => client.release(),
          broken => client.release(broken as Error),
        )
        throw error
      }
    },
  }
  return { store: createPortStore(own) as Store<unknown>, send: sendQuery, close: () => pool.end() }
}
