import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import createKnex, { type Knex } from 'knex'
import { CamelCasePlugin, Kysely, PostgresDialect, type Transaction } from 'kysely'
import type { ConsumerContract, Store } from 'onceward'
import { createKnexStore } from 'onceward/knex'
import { createKyselyStore } from 'onceward/kysely'
import { skipWithout } from '../services/services.ts'
import { type Library, userPool } from './libraries.ts'
import { type Job, openEffects, startConsumer } from './rig.ts'

const camel = (name: string) => name.replaceAll(/_([a-z])/g, (_, letter) => letter.toUpperCase())
const snake = (name: string) => name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

/** Every path of a batch that reads columns back: duplicate, conflict of a business key, retry, parked. */
async function everyPath<Tx>(
  store: (url: string) => { store: Store<Tx>; close(): Promise<unknown> },
  write: (tx: Tx, id: string) => Promise<string>,
) {
  await using database = await openEffects()
  await database.pool.query('create table case_note (note_id text primary key, written_by text not null)')
  const library = { name: 'renaming', open: store } as unknown as Library<Tx>
  const read: string[] = []
  const contract: Partial<ConsumerContract<Job, Tx>> = {
    identity: { id: m => m.id, businessKey: m => m.id.slice(0, 1) },
    failure: { attemptsMax: 2, delayMs: 1, delayMaxMs: 1 },
    async handle({ message, tx }) {
      read.push(await write(tx, message.id))
      if (message.id === 'bad') throw new Error('after its write')
    },
  }
  await using consumer = await startConsumer(database.url, library, contract)
  consumer.publish('a1', 'a2', 'bad', 'c1')
  await consumer.settled()
  consumer.publish('a1', 'bad')
  await consumer.settled()
  assert.deepEqual(await database.markers(consumer.name), [
    'a1 applied',
    'a2 duplicate',
    'bad parked',
    'c1 applied',
  ])
  const { rows } = await database.pool.query('select * from case_note order by 1')
  assert.deepEqual(rows, [
    { note_id: 'a1', written_by: 'handler' },
    { note_id: 'c1', written_by: 'handler' },
  ])
  assert.deepEqual(new Set(read), new Set(['handler']))
}

describe('a library that renames columns', await skipWithout('postgres'), () => {
  test('Kysely with CamelCasePlugin: its names on tx, ours beside it', async () => {
    interface Notes {
      caseNote: { noteId: string; writtenBy: string }
    }
    await everyPath<Transaction<Notes>>(
      url => {
        const dialect = new PostgresDialect({ pool: userPool(url) })
        const db = new Kysely<Notes>({ dialect, plugins: [new CamelCasePlugin()] })
        return { store: createKyselyStore(db), close: () => db.destroy() }
      },
      async (tx, noteId) => {
        const row = await tx
          .insertInto('caseNote')
          .values({ noteId, writtenBy: 'handler' })
          .returning('writtenBy')
          .executeTakeFirstOrThrow()
        return row.writtenBy
      },
    )
  })

  test('Knex with wrapIdentifier and postProcessResponse: its names on tx, ours beside it', async () => {
    const renamed = (row: object) =>
      Object.fromEntries(Object.entries(row).map(([name, value]) => [camel(name), value]))
    await everyPath<Knex.Transaction>(
      url => {
        const knex = createKnex({
          client: 'pg',
          connection: url,
          wrapIdentifier: (name, wrap) => wrap(snake(name)),
          postProcessResponse: answer => (Array.isArray(answer) ? answer.map(renamed) : answer),
        })
        return { store: createKnexStore(knex), close: () => knex.destroy() }
      },
      async (tx, noteId) => {
        const [row] = await tx('caseNote').insert({ noteId, writtenBy: 'handler' }).returning('writtenBy')
        return row.writtenBy
      },
    )
  })
})
