import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { skipWithout } from '../services/services.ts'
import { createTestStream } from './broker.ts'
import { plainEntry, publishEntries, subBatchEntry } from './publish-entries.ts'

const megabyte = 1024 * 1024
const zstd = 4
const subBatches = 25
const memoryMb = 450

/** A chunk of some kilobytes. Each sub-batch holds one record of so many zeros. */
function hugeSubBatches(
  unpackedMb: number,
  spoil: (packed: Buffer, stated: number) => [Buffer, number],
): Buffer[] {
  const plain = plainEntry(Buffer.alloc(unpackedMb * megabyte))
  const [packed, stated] = spoil(zstdCompressSync(plain), plain.length)
  return [
    ...Array.from({ length: subBatches }, () => subBatchEntry(zstd, 1, packed, stated)),
    plainEntry('last'),
  ]
}

const module = new URL('../../src/drivers/rabbitmq-stream/source.ts', import.meta.url).href
const checkpoints = new URL('../../src/testing/memory-checkpoints.ts', import.meta.url).href

/** Reads to the last record in little memory; says what it saw and how large the process ever was. */
const child = `
  import { createStreamSource } from ${JSON.stringify(module)}
  import { logOptions } from ${JSON.stringify(checkpoints)}
  const [stream, url] = process.argv.slice(1)
  const source = createStreamSource({ kind: 'rabbitmq-stream', stream, url, start: 'first' })
  const log = logOptions({})
  const subscription = await source.open({ inFlightMax: 100, inFlightBytesMax: 8e6, onEvent: () => {}, log })
  const seen = { records: 0, broken: 0, last: false }
  while (!seen.last) {
    const deliveries = await subscription.receive(1)
    for (const { body, properties } of deliveries) {
      if (properties.contentEncoding?.startsWith('unreadable')) seen.broken++
      else if (body.toString('latin1', 0, 4) === 'last') seen.last = true
      else seen.records++
    }
    await subscription.settle(deliveries)
  }
  console.log(JSON.stringify({ ...seen, memoryMb: process.resourceUsage().maxRSS / 1024 }))
  process.exit(0)`

async function readInChild(stream: string, url: string) {
  const flags = ['--max-old-space-size=64', '--conditions=@onceward/source', '--input-type=module-typescript']
  const reader = spawn(process.execPath, [...flags, '-e', child, stream, url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(reader.stdout!, 'data')) as [Buffer]
  return JSON.parse(line.toString()) as { records: number; broken: number; memoryMb: number }
}

describe('a chunk that unpacks to gigabytes', {
  timeout: 240_000,
  ...(await skipWithout('rabbitmq')),
}, () => {
  for (const [what, unpackedMb, spoil, expected] of [
    ['and says otherwise', 50, packed => [packed, 10], { records: subBatches, broken: 0 }],
    [
      'and turns out broken',
      50,
      (packed, stated) => [packed.subarray(0, -1), stated],
      { records: 0, broken: subBatches },
    ],
  ] as const satisfies readonly [string, number, Parameters<typeof hugeSubBatches>[1], object][]) {
    test(`${what} is read to its end in little memory`, async t => {
      const made = await createTestStream(t)
      await publishEntries(made.url, made.name, hugeSubBatches(unpackedMb, spoil))
      const { memoryMb: used, ...seen } = await readInChild(made.name, made.url)
      assert.deepEqual(seen, { ...expected, last: true })
      assert.ok(used < memoryMb, `${used} MB`)
    })
  }
})
