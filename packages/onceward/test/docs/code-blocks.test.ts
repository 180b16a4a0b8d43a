import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createPool, migrate } from 'onceward/postgres'
import pg from 'pg'
import { parseDocument } from 'yaml'
import { readPolicy } from '../../src/contract/policy/read-policy.ts'
import { createEmptyDatabase, skipWithout } from '../services/services.ts'
import { allBlocks, blocksIn, pages, placeOf } from './pages.ts'
import { typeProblems } from './type-check.ts'

/** Blocks of these languages are no code: drawings, and what a command prints. */
const notCode = ['text', 'mermaid']
/** What pages take for granted that a reader has. */
const tablesOfReaders = 'create table payment (id text primary key)'
const checked = ['ts', 'sh', 'sql', 'yaml', 'json']

test('every block says what language it is in', () => {
  const unknown = allBlocks.filter(({ language }) => ![...notCode, ...checked].includes(language))
  assert.deepEqual(unknown.filter(block => !block.marks.startsWith('unchecked: ')).map(placeOf), [])
})

test('what is not checked is marked with the reason, and counted', () => {
  const unchecked = allBlocks.filter(({ marks }) => marks.startsWith('unchecked'))
  assert.deepEqual(
    unchecked.map(({ page, marks }) => `${page} ${marks}`),
    [
      'docs/publish.md unchecked: settings of Debezium, which does not run here',
      'docs/sources/postgres.md unchecked: needs Python and psycopg',
      'docs/sources/postgres.md unchecked: needs Go and pgx',
    ],
  )
})

test('every TypeScript block type-checks', async () => {
  assert.ok(blocksIn('ts').length > 20)
  assert.deepEqual(await typeProblems(blocksIn('ts')), [])
})

test('JSON and YAML parse', () => {
  const problems = [...blocksIn('json'), ...blocksIn('yaml')].flatMap(block =>
    parseDocument(block.code).errors.map(error => `${placeOf(block)} ${error.message}`),
  )
  assert.deepEqual(problems, [])
})

test('a policy file that is shown can be read', () => {
  const sections = ['defaults', 'sources', 'consumers', 'waivers']
  const policies = blocksIn('yaml').filter(({ code }) => {
    const top = parseDocument(code).toJS({ maxAliasCount: 100 })
    return sections.some(section => Object.hasOwn(Object(top), section))
  })
  assert.ok(policies.length > 1)
  const problems = policies.flatMap(block =>
    readPolicy(block.code, block.page).problems.map(
      problem => `${placeOf(block)} ${JSON.stringify(problem)}`,
    ),
  )
  assert.deepEqual(problems, [])
})

describe('every SQL block', await skipWithout('postgres'), () => {
  test('runs against a migrated database, page by page', async () => {
    await using cleanup = new AsyncDisposableStack()
    const database = await createEmptyDatabase()
    cleanup.defer(() => database.drop())
    const client = new pg.Client(database.url)
    await client.connect()
    cleanup.defer(() => client.end())
    const pool = createPool(database.url, { max: 1 })
    await migrate(pool).finally(() => pool.end())
    await client.query(`select onceward.create_roles(); ${tablesOfReaders}`)
    const problems: string[] = []
    for (const page of pages) {
      await client.query('begin')
      for (const block of blocksIn('sql').filter(one => one.page === page)) {
        await client.query('savepoint block')
        await client.query(block.code).catch(async error => {
          problems.push(`${placeOf(block)} ${error.message}`)
          await client.query('rollback to savepoint block')
        })
      }
      await client.query('rollback')
    }
    assert.deepEqual(problems, [])
  })
})
