import { appendFile, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { realEnvironment } from 'onceward'
import { createFileSource, file } from 'onceward/file'
import type { RangeReaderFactory, SourceFactory } from 'onceward/testing'
import { FileRangeReader } from '../../src/drivers/file/file-range-reader.ts'

export const fileSource: SourceFactory = {
  without: {
    'any bytes': 'a line cannot carry a line feed, and an empty one is no record',
    headers: 'a line has no headers',
    'header names': 'a line has no headers',
    'nested headers': 'a line has no headers',
    'message key': 'a line has no key beside its body',
    'shared partitions': 'one process reads, the others stand by',
    'lost connection': 'a file has no connection',
    'expiring records': 'a file loses its beginning only by being rewritten, which is declared always',
  },
  async create() {
    const folder = await mkdtemp(join(tmpdir(), 'onceward-file-'))
    const partitions = ['a.jsonl', 'b.jsonl'].map(name => join(folder, name))
    const empty = () => Promise.all(partitions.map(path => writeFile(path, '')))
    await empty()
    const env = realEnvironment()
    const declaration = file(join(folder, '*.jsonl'), { standbyMs: 300, rotationMs: 0, pollMaxMs: 100 })
    const create = () => createFileSource(declaration, { env })
    let turn = 0
    return {
      source: create(),
      another: create,
      async publish(messages) {
        for (const { body, partition } of messages)
          await appendFile(partitions[partition ?? turn++ % 2]!, Buffer.concat([body, Buffer.from('\n')]))
      },
      partitions,
      async countFrom(path, cursor) {
        const bytes = (await readFile(path)).subarray(Number(cursor ?? 0))
        return bytes
          .toString('latin1')
          .split('\n')
          .filter(line => line !== '').length
      },
      async hideRecords(path) {
        // A name that no rotation gives, and another file under the old one.
        const away = join(folder, 'away')
        await rename(path, away)
        await writeFile(path, '')
        return () => rename(away, path)
      },
      async recreate() {
        await Promise.all(partitions.map(path => rm(path)))
        await empty()
      },
      close: () => rm(folder, { recursive: true, force: true }),
    }
  },
}

export const fileRanges: RangeReaderFactory = {
  without: {
    'any bytes': 'a line cannot carry a line feed, and an empty one is no record',
    headers: 'a line has no headers',
  },
  async create() {
    const log = await fileSource.create({ keyOrder: false })
    const partitions = log.partitions!
    const pattern = join(dirname(partitions[0]!), '*.jsonl')
    return { ...log, partitions, openReader: () => new FileRangeReader(pattern), edgeOf: path => path }
  },
}
