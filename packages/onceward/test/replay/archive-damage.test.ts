import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { ArchiveLines } from '../../src/replay/archive/archive-lines.ts'
import { ArchiveRangeReader } from '../../src/replay/archive/archive-range-reader.ts'
import { type Identified, planArchive } from '../../src/replay/archive/plan-archive.ts'
import type { Campaign, CampaignPlan } from '../../src/replay/campaign/campaign.ts'

const campaign = { consumer: 'facts', liveGeneration: 1, mode: 'replay' } as Campaign
const byField: Identified = { identity: { id: () => 'm1' } }
const zipped = 'facts.deadLetters.1.jsonl.gz'

describe('an archive', () => {
  test('that is truncated is read up to there, with a note', async () => {
    const piece = gzipSync(lines(1, 2))
    const torn = gzipSync(lines(3, 4))
    const members: Record<string, [Buffer, number]> = {
      'in a member': [Buffer.concat([piece, torn.subarray(0, torn.length - 12)]), 2],
      'in the head of a member': [Buffer.concat([piece, torn.subarray(0, 3)]), 2],
      'zeroes after a power cut': [Buffer.concat([piece, Buffer.alloc(9_000)]), 2],
      'within a line of a whole member': [Buffer.concat([piece, gzipSync(lines(3).subarray(0, 20))]), 2],
    }
    for (const [where, [bytes, least]] of Object.entries(members)) {
      using folder = folderWith({ [zipped]: bytes })
      const plan = await planned(folder.path)
      assert.deepEqual(plan.archive!.leftOut, [tornEnd(zipped)], where)
      assert.ok((await readAll(folder.path, plan)).length >= least, where)
    }
    const plain = 'facts.deadLetters.1.jsonl'
    using folder = folderWith({ [plain]: lines(1, 2).subarray(0, -30) })
    const plan = await planned(folder.path)
    assert.deepEqual(plan.archive!.leftOut, [tornEnd(plain)])
    assert.deepEqual(await readAll(folder.path, plan), ['m1'])
  })

  test('that is truncated has the same lines at any reading speed', async () => {
    const member = gzipSync(
      Array.from({ length: 5_000 }, (_, n) => `${createHash('sha256').update(`${n}`).digest('hex')}\n`).join(
        '',
      ),
    )
    using folder = folderWith({ [zipped]: member.subarray(0, -9) })
    await using handle = await open(join(folder.path, zipped))
    const counts: number[] = []
    for (const pauseMs of [0, 30]) {
      let count = 0
      for await (const some of new ArchiveLines({ name: zipped, handle, bytes: member.length - 9 })) {
        count += some.length
        if (pauseMs > 0) await setTimeout(pauseMs)
      }
      counts.push(count)
    }
    assert.deepEqual(counts, [5_000, 5_000])
  })

  test('that is damaged anywhere else is refused, with the file and the line', async () => {
    const piece = gzipSync(lines(1, 2))
    const wrong = Buffer.from(piece)
    wrong[piece.length - 6]! ^= 0xff
    const files: Record<string, [string, Buffer, RegExp]> = {
      checksum: [zipped, Buffer.concat([piece, wrong]), /jsonl\.gz is damaged after line \d: .*check/],
      'no member': [zipped, Buffer.concat([piece, Buffer.from('hello, I am text')]), /damaged after line/],
      'a hole of zeroes': [
        zipped,
        Buffer.concat([piece, Buffer.alloc(20), piece]),
        /no member begins at byte/,
      ],
      'no JSON': [zipped, gzipSync(Buffer.concat([lines(1), Buffer.from('{"id":\n')])), /line 2 is not JSON/],
      'no message': [
        zipped,
        gzipSync(Buffer.concat([lines(1), Buffer.from('{"id":1}\n')])),
        /line 2 is not a message/,
      ],
      'no bytes': [zipped, gzipSync(line(1, { body: 'not base64!' })), /line 1 is not a message/],
      'no digest': [zipped, gzipSync(line(1, { digest: '0102' })), /line 1 is not a message/],
      'an id no database has': [zipped, gzipSync(line(1, { message_id: 'a\0' })), /line 1 is not a message/],
      'an id of half a character': [
        zipped,
        gzipSync(line(1, { message_id: '\ud800' })),
        /line 1 is not a message/,
      ],
      'no key': [zipped, gzipSync(line(1, { broker_key: {} })), /line 1 is not a message/],
      'no headers': [zipped, gzipSync(line(1, { headers: [] })), /line 1 is not a message/],
      'no time': [
        zipped,
        gzipSync(Buffer.concat([line(1, { properties: { timestampMs: 'x' } }), lines(2)])),
        /line 1 is not a message/,
      ],
    }
    for (const [what, [name, bytes, message]] of Object.entries(files)) {
      using folder = folderWith({ [name]: bytes })
      await assert.rejects(planned(folder.path), { code: 'configuration', message }, what)
    }
  })

  test('with headers nested at any depth is read', async () => {
    const [before, after] = line(1, { headers: 'here' }).toString().split('"here"') as [string, string]
    const deep = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`
    using folder = folderWith({ [zipped]: gzipSync(`${before}${deep}${after}`) })
    assert.deepEqual(await readAll(folder.path, await planned(folder.path)), ['m1'])
  })

  test('has no line longer than the limit, also when compressed', async () => {
    using folder = folderWith({
      [zipped]: gzipSync(Buffer.concat([Buffer.from('{}\n'), Buffer.alloc(3_000_000, 'x')])),
    })
    await using handle = await open(join(folder.path, zipped))
    const { size: bytes } = await handle.stat()
    const read = new ArchiveLines({ name: zipped, handle, bytes, lineBytesMax: 1_000_000 })
    const all = async () => {
      for await (const _ of read);
    }
    await assert.rejects(all(), /line 2, is longer than 1000000 bytes/)
  })

  test('must be unchanged since the preview, and links out of it are refused', async () => {
    using folder = folderWith({ [zipped]: gzipSync(lines(1, 2)), 'secret.txt': gzipSync(lines(9)) })
    symlinkSync(join(folder.path, 'secret.txt'), join(folder.path, 'facts.deadLetters.2.jsonl.gz'))
    const plan = await planned(folder.path)
    assert.deepEqual(plan.archive!.leftOut, [
      { what: 'links and folders', count: 1 },
      { what: 'files whose name is not one of an archive', count: 1 },
    ])
    writeFileSync(join(folder.path, zipped), gzipSync(lines(1, 3)))
    await assert.rejects(
      readAll(folder.path, plan),
      /facts.deadLetters.1.jsonl.gz has changed since the preview/,
    )
    rmSync(join(folder.path, zipped))
    symlinkSync(join(folder.path, 'secret.txt'), join(folder.path, zipped))
    await assert.rejects(readAll(folder.path, plan), /no longer exists/)
    rmSync(join(folder.path, zipped))
    execFileSync('mkfifo', [join(folder.path, zipped)])
    await assert.rejects(readAll(folder.path, plan), /no longer exists/, 'nobody writes to it')
    rmSync(join(folder.path, zipped))
    mkdirSync(join(folder.path, zipped))
    await assert.rejects(readAll(folder.path, plan), /no longer exists/)
  })

  test('that is truncated while it is read is refused, on a repeated read as well', async () => {
    const name = 'facts.deadLetters.1.jsonl'
    using folder = folderWith({
      [name]: Buffer.concat(Array.from({ length: 4_000 }, (_, n) => line(1, { id: n }))),
      'facts.deadLetters.2.jsonl': lines(2),
    })
    const plan = await planned(folder.path)
    const reader = await ArchiveRangeReader.open(
      terms,
      { ...campaign, plan },
      { of: 'archive', path: folder.path },
      byField,
    )
    const { next } = (await reader.read('archive', { incarnation: '', next: '0' })) as { next: string }
    truncateSync(join(folder.path, name), 100)
    for (const _ of [1, 2])
      await assert.rejects(
        reader.read('archive', { incarnation: '', next }),
        /facts.deadLetters.1.jsonl has changed since the preview. Applied messages stay applied/,
      )
    await reader.close()
  })

  test('is read in the order of its passes from any position, each row in its last version', async () => {
    using folder = folderWith({
      'facts.deadLetters.9.jsonl.gz': gzipSync(lines(1, 2, 3)),
      'facts.deadLetters.10.jsonl': Buffer.concat([lines(4), line(2, { reason: 'later' })]),
      'facts.deadLetters.10.2.jsonl': Buffer.concat([
        line(5, { generation: 2 }),
        line(6, { consumer: 'others' }),
        line(8, { generation: undefined }),
        lines(7),
      ]),
      'facts.attempts.10.jsonl.gz': Buffer.from('never looked into'),
    })
    const plan = await planned(folder.path)
    assert.deepEqual(plan.archive!.leftOut, [
      { what: 'files of attempts, which hold no message', count: 1 },
      { what: 'rows that were archived more than once', count: 1 },
      { what: 'rows of other generations', count: 1 },
      { what: 'rows of other consumers', count: 1 },
      { what: 'rows that name no consumer generation', count: 1 },
    ])
    assert.deepEqual(plan.ranges[0]!.to, '9')
    assert.equal(plan.oldestMs, Date.parse('2026-01-01T00:00:01Z'))
    assert.deepEqual(await readAll(folder.path, plan), ['m1', 'm3', 'm4', 'm2', 'm7'])
    for (const [from, ids] of [
      [2, ['m3', 'm4', 'm2', 'm7']],
      [4, ['m2', 'm7']],
      [9, []],
    ] as const)
      assert.deepEqual(await readAll(folder.path, plan, from), ids, `from line ${from}`)
    using nameless = folderWith({
      'facts.deadLetters.1.jsonl': Buffer.concat([line(1, { message_id: null }), lines(2)]),
    })
    assert.deepEqual((await planned(nameless.path)).archive!.leftOut, [])
    const { archive } = await planned(nameless.path, { identity: { id: 'position' } })
    assert.deepEqual(archive!.leftOut, [
      { what: 'rows without an id: their position in an archive is not the one in the log', count: 1 },
    ])
    using others = folderWith({ 'others.deadLetters.1.jsonl': lines(1) })
    await assert.rejects(
      planned(others.path),
      /no file with messages of facts \(it has 1 files of other consumers\)/,
    )
  })

  test('of two databases has both messages, although their rows have the same id and body', async () => {
    const body = Buffer.from('{}').toString('base64')
    const same = { digest: '01'.padEnd(66, 'a'), body }
    using folder = folderWith({
      'facts.deadLetters.1.jsonl.gz': gzipSync(
        Buffer.concat([line(1, { ...same, message_id: 'north' }), line(2, { ...same, message_id: 'both' })]),
      ),
      'facts.deadLetters.2.jsonl.gz': Buffer.concat([
        gzipSync(line(1, { ...same, message_id: 'south' })),
        gzipSync(line(2, { ...same, message_id: 'both', reason: 'archived twice' })),
      ]),
    })
    const plan = await planned(folder.path)
    assert.deepEqual(plan.archive!.leftOut, [{ what: 'rows that were archived more than once', count: 1 }])
    assert.deepEqual(await readAll(folder.path, plan), ['north', 'south', 'both'])
  })
})

const terms = [{ name: 'facts', fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }]
const planned = (path: string, consumer = byField) =>
  planArchive(terms, campaign, { of: 'archive', path }, consumer)

async function readAll(path: string, plan: CampaignPlan, from = 0): Promise<string[]> {
  const reader = await ArchiveRangeReader.open(terms, { ...campaign, plan }, { of: 'archive', path }, byField)
  const ids: string[] = []
  for (let next = String(from); ; ) {
    const page = await reader.read('archive', { incarnation: '', next })
    if (page.kind !== 'records') throw new Error(page.kind)
    ids.push(...page.records.map(({ archived }) => archived!.messageId))
    if (page.atEnd) break
    next = page.next
  }
  await reader.close()
  return ids
}

const tornEnd = (name: string) => ({ what: `torn end of ${name}, of rows that were not removed`, count: 1 })

const lines = (...numbers: readonly number[]) => Buffer.concat(numbers.map(number => line(number)))

const line = (number: number, changes: Record<string, unknown> = {}) =>
  Buffer.from(
    `${JSON.stringify({
      consumer: 'facts',
      generation: 1,
      id: String(number),
      state: 'dead',
      message_id: `m${number}`,
      digest: '01'.padEnd(66, String(number)),
      first_at: `2026-01-01T00:00:0${number}.000Z`,
      code: '',
      origin: 'q',
      position: null,
      broker_key: null,
      headers: {},
      properties: {},
      body: Buffer.from(`{"id":"m${number}"}`).toString('base64'),
      ...changes,
    })}\n`,
  )

function folderWith(files: Record<string, Buffer>) {
  const path = mkdtempSync(join(tmpdir(), 'onceward-archive-'))
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(path, name), bytes)
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) }
}
