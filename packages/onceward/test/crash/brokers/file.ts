import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { file } from 'onceward/file'
import { createPool } from 'onceward/postgres'
import type { LoggedRecord, TestBroker } from '../brokers.ts'
import { storedPositions, unread } from '../positions.ts'

/**
 * Lines of a file. Nobody but the store can be told anything, and there is nowhere to send dead letters to.
 */
export function fileBroker(postgresUrl: string): TestBroker {
  const folder = mkdtempSync(join(tmpdir(), 'onceward-crash-'))
  const path = join(folder, 'work.jsonl')
  const pool = createPool(postgresUrl, { max: 1 })
  const records: LoggedRecord[] = []
  let size = 0
  return {
    declaration: file(path),
    deadLetter: null,
    target: { broker: 'postgres', queue: 'crash.out' },
    published: async () => {
      const { rows } = await pool.query('select message_id from onceward.queue_message')
      return rows.map(row => row.message_id as string)
    },
    log: { records, told: async () => new Map() },
    publish: async messages => {
      for (const produced of messages) {
        const line = `${produced.body}\n`
        appendFileSync(path, line)
        records.push({ partition: path, offset: size, produced })
        size += Buffer.byteLength(line)
      }
    },
    depth: async () => unread(records, await storedPositions(pool)).length,
    deadLetters: async () => [],
    async close() {
      await pool.end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
