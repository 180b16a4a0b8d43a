import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { Command } from 'commander'
import { createPool, migrate } from 'onceward/postgres'
import { createProgram } from '../../src/cli/program.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

const page = readFileSync(new URL('../../../../docs/operations.md', import.meta.url), 'utf8')
const blocks = (language: string) =>
  [...page.matchAll(/```(\w+)\n([\s\S]*?)```/g)]
    .filter(([, kind]) => kind === language)
    .map(([, , text]) => text!)
/** Commands in blocks and in running text. */
const commands = [...page.matchAll(/npx onceward ([^\n`]+)/g)].map(([, line]) => line!.trim())

/** As a shell would take it apart; quotes only. */
const words = (line: string) =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)

function inert(command: Command): Command {
  command.action(() => {})
  for (const one of command.commands) inert(one)
  return command
}

const without = await skipWithout('postgres')

describe('the page on operations', () => {
  test('names commands that exist, with options they take', async () => {
    assert.ok(commands.length > 10)
    for (const line of commands) {
      const complete = line === 'restore accept' ? `${line} 1 --because why` : line
      await inert(await createProgram()).parseAsync(words(complete), { from: 'user' })
    }
  })

  test('has statements that run as written, on the described database', without, async () => {
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 1 })
    try {
      await migrate(pool)
      await pool.query('select onceward.create_roles()')
      await pool.query('create table payment (id text primary key)')
      assert.equal(blocks('sql').length, 1)
      // Roles are the whole server's: nothing of this stays.
      for (const text of blocks('sql')) await pool.query(`begin; ${text}; rollback`)
    } finally {
      await pool.end()
      await database.drop()
    }
  })
})
