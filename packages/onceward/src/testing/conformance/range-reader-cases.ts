import assert from 'node:assert/strict'
import type { Page } from '../../ports/range-reader.ts'
import type { ConformanceCase } from './conformance-case.ts'
import { assertHeaders, namedLikeInherited } from './hostile-headers.ts'
import { bounded } from './publisher-bench.ts'
import { type RangeBench, textsOf } from './range-bench.ts'
import type { RangeReaderFeature } from './range-reader.ts'
import { numbered, tester } from './source-bench.ts'

export const rangeReaderCases: readonly ConformanceCase<RangeBench, RangeReaderFeature>[] = [
  {
    name: 'reads a surveyed range whole and in order, and nothing that was added after the survey',
    async run(bench) {
      await bench.publish(...numbered(5))
      const reader = bench.open()
      const range = await bench.survey(reader)
      await bench.publish('later')
      assert.deepEqual(textsOf(await bench.read(reader, range)), numbered(5))
    },
  },
  {
    name: 'cursors grow, and each record ends where the next may begin',
    async run(bench) {
      await bench.publish(...numbered(5))
      const reader = bench.open()
      const range = await bench.survey(reader)
      const records = await bench.read(reader, range)
      for (const [index, { at, next }] of records.entries()) {
        assert.ok(BigInt(at) < BigInt(next), `${at} ends at ${next}`)
        const following = records[index + 1]?.at ?? range.to
        assert.ok(BigInt(next) <= BigInt(following), `${next} is past ${following}`)
      }
      assert.ok(BigInt(range.from) <= BigInt(records[0]!.at))
    },
  },
  {
    name: 'another reader resumes after any record',
    async run(bench) {
      await bench.publish(...numbered(5))
      const range = await bench.survey(bench.open())
      const all = await bench.read(bench.open(), range)
      for (const [index, { next }] of all.entries()) {
        const rest = await bench.read(bench.open(), range, next)
        assert.deepEqual(textsOf(rest), numbered(5).slice(index + 1), `behind record ${index}`)
      }
    },
  },
  {
    name: 'one reader may jump back and read the same records again',
    async run(bench) {
      await bench.publish(...numbered(4))
      const reader = bench.open()
      const range = await bench.survey(reader)
      const first = await bench.read(reader, range)
      assert.deepEqual(textsOf(await bench.read(reader, range, first[1]!.at)), ['m1', 'm2', 'm3'])
      assert.deepEqual(textsOf(await bench.read(reader, range)), numbered(4))
    },
  },
  {
    name: 'reads exactly from one edge to before another',
    needs: ['edges'],
    async run(bench) {
      await bench.publish(...numbered(6))
      const reader = bench.open()
      const all = await bench.read(reader, await bench.survey(reader))
      const edge = (index: number) => ({
        offsets: { [bench.under.edgeOf!(bench.under.partitions[0]!)]: Number(all[index]!.at) },
      })
      const range = await bench.survey(reader, { start: edge(1), end: edge(4) })
      assert.deepEqual([range.from, range.to], [all[1]!.at, all[4]!.at])
      assert.deepEqual(textsOf(await bench.read(reader, range)), ['m1', 'm2', 'm3'])
    },
  },
  {
    name: 'a range from the end to the end is empty, and so is one that ends before it begins',
    needs: ['edges'],
    async run(bench) {
      await bench.publish(...numbered(3))
      const reader = bench.open()
      const end = await bench.survey(reader, { start: 'next', end: 'next' })
      assert.equal(end.from, end.to)
      const turned = await bench.survey(reader, { start: 'next', end: 'first' })
      assert.equal(turned.from, turned.to)
      assert.deepEqual(await bench.read(reader, end), [])
    },
  },
  {
    name: 'surveys a log that grows meanwhile',
    needs: ['edges'],
    async run(bench) {
      await bench.publish('m0')
      const reader = bench.open()
      let over = false
      const grow = async () => {
        while (!over) await bench.publish('more')
      }
      const growing = grow()
      try {
        for (let surveys = 0; surveys < 60; surveys++) {
          const range = await bench.survey(reader)
          assert.ok(BigInt(range.from) < BigInt(range.to))
        }
      } finally {
        over = true
        await growing
      }
    },
  },
  {
    name: 'an empty log has no range, or an empty one',
    needs: ['empty log'],
    async run(bench) {
      const ranges = await bench.open().survey({ start: 'first', end: 'next' })
      for (const { from, to } of ranges) assert.equal(from, to)
    },
  },
  {
    name: 'an edge beyond the end of the log is refused as a configuration error',
    needs: ['edges'],
    async run(bench) {
      await bench.publish(...numbered(2))
      const beyond = { offsets: { [bench.under.edgeOf!(bench.under.partitions[0]!)]: 1_000_000 } }
      await assert.rejects(bench.open().survey({ start: 'first', end: beyond }), { code: 'configuration' })
      await assert.rejects(bench.open().survey({ start: beyond, end: 'next' }), { code: 'configuration' })
    },
  },
  {
    name: 'records have the bytes, headers, keys and positions that the live source delivers',
    needs: ['live source'],
    async run(bench) {
      await bench.under.publish(
        numbered(3).map(text => ({
          body: Buffer.from(text),
          key: `key of ${text}`,
          headers: { name: text },
          properties: { messageId: `id of ${text}`, contentType: 'text/plain' },
          partition: 0,
        })),
      )
      const reader = bench.open()
      const records = await bench.read(reader, await bench.survey(reader))
      const live = await bench.live(3)
      assert.equal(records.length, live.length)
      for (const [index, record] of records.entries()) {
        const delivery = live[index]!
        assert.deepEqual(record.body, delivery.body)
        assert.deepEqual({ ...record.headers }, { ...delivery.headers })
        assert.deepEqual({ ...record.properties }, { ...delivery.properties })
        assert.equal(record.key, delivery.key)
        assert.equal(record.position, delivery.position)
        assert.equal(record.at, delivery.place!.at)
      }
      assert.equal(reader.origin, live[0]!.origin)
    },
  },
  {
    name: 'bodies of any bytes are read exactly, including an empty one',
    needs: ['any bytes'],
    async run(bench) {
      const bodies = [Buffer.alloc(0), Buffer.from([0, 10, 13, 0xff, 0xfe]), Buffer.alloc(200_000, 0xa5)]
      await bench.under.publish(bodies.map(body => ({ body, partition: 0 })))
      const reader = bench.open()
      const records = await bench.read(reader, await bench.survey(reader))
      assert.equal(records.length, bodies.length)
      for (const [index, body] of bodies.entries())
        assert.ok(records[index]!.body.equals(body), `the bytes of record ${index}`)
    },
  },
  {
    name: 'headers named like inherited object properties are read under their names',
    needs: ['headers'],
    async run(bench) {
      await bench.under.publish([{ body: Buffer.from('x'), headers: namedLikeInherited, partition: 0 }])
      const reader = bench.open()
      const [record] = await bench.read(reader, await bench.survey(reader))
      assertHeaders(record!.headers, namedLikeInherited)
    },
  },
  {
    name: 'expired records are reported as lost, and none is skipped',
    needs: ['expiring records'],
    async run(bench) {
      await bench.publish(...numbered(6))
      const reader = bench.open()
      const range = await bench.survey(reader)
      const all = await bench.read(reader, range)
      await bench.under.loseRecords!(range.partition, 2)
      const later = bench.open()
      assertLost(await bench.page(later, range, range.from))
      assertLost(await bench.page(later, range, all[2]!.at))
      assert.deepEqual(textsOf(await bench.read(later, range, all[4]!.at)), ['m4', 'm5'])
    },
  },
  {
    name: 'a log that was deleted and created again is reported as lost, and its new records are not read',
    needs: ['recreation'],
    async run(bench) {
      await bench.publish(...numbered(3))
      // RabbitMQ keeps no id of a stream: the live consumer marks the incarnation it reads.
      if (bench.under.source !== undefined) await bench.live(3)
      const range = await bench.survey(bench.open())
      await bench.under.recreate!()
      await bench.publish(...numbered(5, 'new'))
      await expectNotRead(bench, range)
    },
  },
  {
    name: 'reading leaves no position at the broker',
    needs: ['position on the broker'],
    async run(bench) {
      await bench.publish(...numbered(3))
      const reader = bench.open()
      await bench.read(reader, await bench.survey(reader))
      await reader.close()
      assert.equal(await bench.under.committed!(bench.under.partitions[0]!, tester), null)
    },
  },
  {
    name: 'closing in the middle of a range is bounded, may be repeated, and another reader continues there',
    async run(bench) {
      await bench.publish(...numbered(5))
      const reader = bench.open()
      const range = await bench.survey(reader)
      const [first] = await bench.read(reader, range)
      await bench.page(reader, range, first!.next)
      await bounded('close', reader.close())
      await bounded('a second close', reader.close())
      assert.deepEqual(textsOf(await bench.read(bench.open(), range, first!.next)), numbered(5).slice(1))
    },
  },
]

function assertLost(page: Page): void {
  assert.equal(page.kind, 'lost', `lost records were skipped: ${JSON.stringify(page).slice(0, 200)}`)
  assert.notEqual((page as Extract<Page, { kind: 'lost' }>).reason, '')
}

/** A log that keeps no mark of its incarnation refuses instead. Records of the new log are never returned. */
async function expectNotRead(bench: RangeBench, range: Parameters<RangeBench['page']>[1]): Promise<void> {
  const page = await bench.page(bench.open(), range, range.from).catch((error: { code?: string }) => error)
  if (page instanceof Error) assert.equal((page as { code?: string }).code, 'configuration')
  else assertLost(page as Page)
}
