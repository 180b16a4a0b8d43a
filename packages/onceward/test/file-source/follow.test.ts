import assert from 'node:assert/strict'
import { appendFile, mkdtemp, rename, rm, stat, truncate, unlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { realEnvironment } from 'onceward'
import { createFileSource, type FileOptions, file } from 'onceward/file'
import { logOptions, MemoryCheckpoints, until } from 'onceward/testing'
import type { Delivery, SourceEvent, Subscription } from '../../src/ports/source.ts'

const soon = { pollMaxMs: 50, rotationMs: 0, standbyMs: 100 }

/** One log file with its reader, as a program that rotates would have it. */
async function bench(t: TestContext, options: FileOptions = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'onceward-follow-'))
  const checkpoints = new MemoryCheckpoints()
  const opened: Subscription[] = []
  t.after(async () => {
    await Promise.all(opened.map(one => one.close()))
    await rm(folder, { recursive: true })
  })
  const events: SourceEvent[] = []
  const path = join(folder, 'app.jsonl')
  return {
    folder,
    path,
    checkpoints,
    events,
    write: (...lines: string[]) => appendFile(path, lines.map(line => `${line}\n`).join('')),
    async open(pattern = path) {
      const source = createFileSource(file(pattern, { ...soon, ...options }), { env: realEnvironment() })
      const subscription = await source.open({
        inFlightMax: 1_000,
        inFlightBytesMax: 64 * 1024 * 1024,
        onEvent: event => void events.push(event),
        log: logOptions({ checkpoints }),
      })
      opened.push(subscription)
      return subscription
    },
  }
}

/** Settled as they come: a successor is read only when its predecessor is done. */
async function take(from: Subscription, count: number): Promise<Delivery[]> {
  const all: Delivery[] = []
  while (all.length < count) {
    const some = await from.receive(count - all.length)
    assert.ok(some.length > 0, 'the subscription was closed')
    all.push(...some)
    await from.settle(some)
  }
  return all
}

const texts = (deliveries: readonly Delivery[]) => deliveries.map(({ body }) => body.toString())
const lost = (subscription: Subscription) =>
  assert.rejects(async () => void (await subscription.receive(10)), { code: 'records_lost' })

describe('a file that is followed', () => {
  test('delivers appended lines, and waits for the end of a line', async t => {
    const { write, open, path } = await bench(t)
    await write('one')
    const subscription = await open()
    assert.deepEqual(texts(await take(subscription, 1)), ['one'])
    await appendFile(path, 'tw')
    const waiting = take(subscription, 1)
    await appendFile(path, 'o\n')
    assert.deepEqual(texts(await waiting), ['two'])
  })

  test('need not exist yet', async t => {
    const { write, open } = await bench(t)
    const subscription = await open()
    await write('first')
    assert.deepEqual(texts(await take(subscription, 1)), ['first'])
  })

  test('is read to its end after it was renamed, then the new one', async t => {
    const { write, open, path } = await bench(t)
    await write('old 1', 'old 2')
    const subscription = await open()
    await take(subscription, 1)
    await rename(path, `${path}.1`)
    await write('new 1')
    assert.deepEqual(texts(await take(subscription, 2)), ['old 2', 'new 1'])
    await write('new 2')
    assert.deepEqual(texts(await take(subscription, 1)), ['new 2'])
  })

  test('that was renamed is kept open until its deliveries are settled', async t => {
    const { write, open, path, checkpoints } = await bench(t)
    await write('old')
    const subscription = await open()
    const [old] = await subscription.receive(1)
    await rename(path, `${path}.1`)
    await write('new')
    const next = subscription.receive(10)
    const { incarnation } = checkpoints.stored(path)!
    await subscription.settle([old!])
    const [fresh] = await next
    assert.equal(fresh!.body.toString(), 'new')
    assert.notEqual(fresh!.place!.incarnation, incarnation)
    assert.deepEqual(checkpoints.stored(path), { incarnation: fresh!.place!.incarnation, next: '0' })
  })

  test('waits for a writer that still writes to the renamed file', async t => {
    const { write, open, path } = await bench(t, { rotationMs: 4_000 })
    await write('1')
    const subscription = await open()
    await take(subscription, 1)
    await rename(path, `${path}.1`)
    await write('3')
    await appendFile(`${path}.1`, '2\n')
    assert.deepEqual(texts(await take(subscription, 2)), ['2', '3'])
  })

  test('rotated several times between two reads loses nothing', async t => {
    const { write, open, path, checkpoints } = await bench(t)
    await write('a1', 'a2')
    const first = await open()
    await take(first, 1)
    await first.close()
    await rename(path, `${path}.2`)
    await write('b1')
    await rename(path, `${path}.1`)
    await write('c1')
    assert.deepEqual(texts(await take(await open(), 3)), ['a2', 'b1', 'c1'])
    assert.deepEqual(checkpoints.losses, [])
  })

  test('whose successor was compressed unread is a declared loss', async t => {
    const { write, open, path, checkpoints } = await bench(t)
    await write('a1')
    const first = await open()
    await take(first, 1)
    await first.close()
    await rename(path, `${path}.2`)
    await writeFile(`${path}.1.gz`, 'b1')
    await write('c1')
    await lost(await open())
    checkpoints.acceptLoss(path)
    assert.deepEqual(texts(await take(await open(), 1)), ['c1'])
  })

  test('whose successor was compressed unread stays lost once that is accepted, also while it may still grow', async t => {
    const { write, open, path, checkpoints } = await bench(t, { rotationMs: 1_000 })
    await write('a1')
    const first = await open()
    await take(first, 1)
    await first.close()
    await rename(path, `${path}.2`)
    await writeFile(`${path}.1.gz`, 'b1')
    const later = Date.now() / 1_000 + 5
    await utimes(`${path}.1.gz`, later, later)
    await write('c1')
    const halted = await open()
    await lost(halted)
    await halted.close()
    checkpoints.acceptLoss(path)
    assert.deepEqual(texts(await take(await open(), 1)), ['c1'])
    assert.deepEqual(checkpoints.withdrawn, [])
  })

  test('continues when only files that were read have been compressed', async t => {
    const { write, open, path, checkpoints } = await bench(t)
    await write('a1')
    const subscription = await open()
    await take(subscription, 1)
    await rename(path, `${path}.1`)
    await write('b1')
    await take(subscription, 1)
    const { atime, mtime } = await stat(`${path}.1`)
    await writeFile(`${path}.2.gz`, 'a1')
    await utimes(`${path}.2.gz`, atime, mtime)
    await unlink(`${path}.1`)
    await rename(path, `${path}.1`)
    await write('c1')
    assert.deepEqual(texts(await take(subscription, 1)), ['c1'])
    assert.deepEqual(checkpoints.losses, [])
  })

  test('that was removed and created again continues with the new one', async t => {
    const { write, open, path, checkpoints } = await bench(t)
    await write('old')
    const subscription = await open()
    await take(subscription, 1)
    await unlink(path)
    await until('its end is known', () => checkpoints.stored(path)!.incarnation === 'none')
    await write('new')
    assert.deepEqual(texts(await take(subscription, 1)), ['new'])
    assert.deepEqual(checkpoints.losses, [])
  })

  test('that disappeared between two reads is a declared loss', async t => {
    const { write, open, path, checkpoints } = await bench(t)
    await write('1', '2')
    const first = await open()
    await take(first, 1)
    await first.close()
    await unlink(path)
    await write('3')
    await lost(await open())
    assert.equal(checkpoints.losses[0]!.from.next, '2')
    checkpoints.acceptLoss(path)
    assert.deepEqual(texts(await take(await open(), 1)), ['3'])
  })

  test('that returns within two seconds has lost nothing', async t => {
    const { write, open, path, checkpoints, events } = await bench(t)
    await write('1', '2')
    const first = await open()
    await take(first, 1)
    await first.close()
    await rename(path, join(dirname(path), 'elsewhere'))
    const again = await open()
    await until('it was looked for', () =>
      events.some(event => /looks for it again/.test(JSON.stringify(event))),
    )
    await rename(join(dirname(path), 'elsewhere'), path)
    assert.deepEqual(texts(await take(again, 1)), ['2'])
    assert.deepEqual(checkpoints.losses, [])
  })

  test('whose folder is missing, as on an unmounted disk, is waited for', async t => {
    const { write, open, folder, checkpoints, events } = await bench(t)
    await write('1', '2')
    const first = await open()
    await take(first, 1)
    await first.close()
    await rename(folder, `${folder}-away`)
    const again = await open()
    const warnings = () => events.filter(event => /ENOENT.*stat/.test(JSON.stringify(event))).length
    await until('it was looked for often', () => warnings() > 5, { deadlineMs: 30_000 })
    await rename(`${folder}-away`, folder)
    assert.deepEqual(texts(await take(again, 1)), ['2'])
    assert.deepEqual(checkpoints.losses, [])
  })

  test('that returns after it was declared lost has the loss withdrawn', async t => {
    const { write, open, path, checkpoints } = await bench(t)
    await write('1', '2')
    const first = await open()
    await take(first, 1)
    await first.close()
    await rename(path, join(dirname(path), 'elsewhere'))
    const halted = await open()
    await lost(halted)
    await halted.close()
    await rename(join(dirname(path), 'elsewhere'), path)
    assert.deepEqual(texts(await take(await open(), 1)), ['2'])
    assert.deepEqual(
      checkpoints.withdrawn.map(({ partition, from }) => [partition, from.next]),
      [[path, '2']],
    )
  })

  test('that shrank is a declared loss, also during reading', async t => {
    const { write, open, path, checkpoints } = await bench(t)
    await write('one', 'two')
    const subscription = await open()
    await take(subscription, 2)
    await truncate(path)
    await lost(subscription)
    assert.match(checkpoints.losses[0]!.reason, /shrank to 0/)
    checkpoints.acceptLoss(path)
    const again = await open()
    await write('three')
    assert.deepEqual(texts(await take(again, 1)), ['three'])
  })

  test('that shrank stays lost when it has grown past the position since: its content is not skipped', async t => {
    const { write, open, path, checkpoints } = await bench(t)
    await write('one', 'two')
    const subscription = await open()
    await take(subscription, 2)
    await truncate(path)
    await lost(subscription)
    await subscription.close()
    await write('six', 'ten', 'eleven')
    const halted = await open()
    await lost(halted)
    await halted.close()
    assert.match(checkpoints.losses[1]!.reason, /has grown past it since/)
    checkpoints.acceptLoss(path)
    assert.deepEqual(texts(await take(await open(), 3)), ['six', 'ten', 'eleven'])
  })

  test('that shrank has also lost lines that were read and not settled', async t => {
    const { write, open, path, checkpoints } = await bench(t)
    await write('one', 'two', 'three')
    const subscription = await open()
    const [one] = await subscription.receive(3)
    await subscription.settle([one!])
    await truncate(path)
    await lost(subscription)
    assert.equal(checkpoints.losses[0]!.from.next, '4')
  })

  test('that was rewritten in place is a declared loss', async t => {
    const { write, open, path, checkpoints } = await bench(t)
    await write('one', 'two')
    const first = await open()
    await take(first, 2)
    await first.close()
    await writeFile(path, 'something else entirely\n')
    await lost(await open())
    assert.match(checkpoints.losses[0]!.reason, /rewritten/)
  })

  test('with a line that is too long delivers an unreadable message, and continues', async t => {
    const { write, open } = await bench(t, { lineBytesMax: 300 * 1024 })
    await write(JSON.stringify({ id: 'x'.repeat(2 * 1024 * 1024) }), '{"id":"next"}')
    const [cut, next] = await take(await open(), 2)
    assert.equal(cut!.body.length, 64 * 1024)
    assert.equal(cut!.headers['onceward-line-bytes'], 2 * 1024 * 1024 + 9)
    assert.match(cut!.properties.contentEncoding!, /cut off/)
    assert.equal(next!.body.toString(), '{"id":"next"}')
  })
})

describe('files of a pattern', () => {
  test('are found as they appear, each a partition of its own', async t => {
    const { folder, open } = await bench(t)
    await writeFile(join(folder, 'a.jsonl'), 'a\n')
    await writeFile(join(folder, 'other.txt'), 'no\n')
    const subscription = await open(join(folder, '*.jsonl'))
    await take(subscription, 1)
    await writeFile(join(folder, 'b.jsonl'), 'b\n')
    const [found] = await take(subscription, 1)
    assert.deepEqual([found!.body.toString(), found!.partition], ['b', join(folder, 'b.jsonl')])
  })

  test('renamed to a name that matches are not read twice', async t => {
    // Else it might be done with between the renaming and the next line.
    const { folder, open, path, write } = await bench(t, { rotationMs: 60_000 })
    await write('1')
    const subscription = await open(join(folder, '*.jsonl'))
    await take(subscription, 1)
    await rename(path, join(folder, 'app-old.jsonl'))
    await appendFile(join(folder, 'app-old.jsonl'), '2\n')
    assert.deepEqual(texts(await take(subscription, 1)), ['2'])
  })

  test('read to the end report it once all is settled, and the last line needs no line feed', async t => {
    const { folder, open, events } = await bench(t, { until: 'end' })
    await writeFile(join(folder, 'a.jsonl'), '1\n2')
    await writeFile(join(folder, 'b.jsonl'), '3\n')
    const subscription = await open(join(folder, '*.jsonl'))
    const all: Delivery[] = []
    while (all.length < 3) all.push(...(await subscription.receive(10)))
    assert.deepEqual(texts(all).sort(), ['1', '2', '3'])
    const ended = () => events.filter(({ kind }) => kind === 'ended').length
    await subscription.settle(all.slice(1))
    assert.equal(ended(), 0)
    await subscription.settle(all.slice(0, 1))
    await until('it has ended', () => ended() === 1)
  })

  test('a missing file that is declared to be read to its end is a mistake, not the end', async t => {
    const { open } = await bench(t, { until: 'end' })
    await assert.rejects((await open()).receive(1), {
      code: 'configuration',
      message: /no file .*app\.jsonl/,
    })
  })

  test('so is a folder that is not there', async t => {
    const { folder, open } = await bench(t, { until: 'end' })
    await assert.rejects((await open(join(folder, 'typo', '*.jsonl'))).receive(1), {
      code: 'configuration',
      message: /no folder .*typo/,
    })
  })

  test('a folder without such a file is at its end, and reports it', async t => {
    const { folder, open, events } = await bench(t, { until: 'end' })
    await open(join(folder, '*.jsonl'))
    await until('it has ended', () => events.length > 0)
    assert.deepEqual(events, [{ kind: 'ended', reason: `there is nothing to read at ${folder}/*.jsonl` }])
  })

  test('a pattern for folders is refused', () => {
    assert.throws(() => createFileSource(file('logs/*/app.jsonl'), { env: realEnvironment() }), {
      code: 'configuration',
    })
  })
})

describe('two readers of one file', () => {
  test('the later one reads; the earlier one waits and takes over when the later one leaves', async t => {
    const { write, open, events } = await bench(t)
    await write('1')
    const first = await open()
    await take(first, 1)
    const second = await open()
    await write('2')
    const [two] = await take(second, 1)
    assert.equal(two!.body.toString(), '2')
    // The first finds out when it tells of what it read itself.
    const [stale] = await first.receive(1)
    assert.deepEqual(await first.settle([stale!]), { missed: 1 })
    await until('it stands by', () => events.some(({ kind }) => kind === 'revoked'))
    await second.close()
    await write('3')
    assert.deepEqual(texts(await take(first, 1)), ['3'])
  })
})
