import assert from 'node:assert/strict'
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import fc from 'fast-check'
import { type Line, readLines } from '../../src/drivers/file/read-lines.ts'

const folder = await mkdtemp(join(tmpdir(), 'onceward-lines-'))
after(() => rm(folder, { recursive: true }))

async function linesOf(content: Buffer, { max = 1024 * 1024, final = false } = {}) {
  const path = join(folder, 'lines')
  await writeFile(path, content)
  const handle = await open(path)
  const lines: Line[] = []
  try {
    for (let at = 0; ; ) {
      const page = await readLines(handle, at, max, final)
      lines.push(...page.lines)
      at = page.next
      if (page.atEnd) return { lines, next: at, rest: page.rest }
    }
  } finally {
    await handle.close()
  }
}

const texts = (lines: readonly Line[]) => lines.map(({ body }) => body.toString('latin1'))

describe('lines of a file', () => {
  test('are the bytes between line feeds, without carriage returns and empty lines, each at its byte', async () => {
    const piece = fc.oneof(
      fc.constantFrom('\n', '\r\n', '\n\n', '\r', '{"a":1}', ''),
      fc.integer({ min: 1, max: 300 }).map(length => 'x'.repeat(length)),
      fc.constant('y'.repeat(300 * 1024)),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 30 }), async pieces => {
        const content = Buffer.from(pieces.join(''))
        const { lines, next, rest } = await linesOf(content, { max: content.length + 1 })
        const complete = content.subarray(0, content.lastIndexOf(0x0a) + 1).toString('latin1')
        const expected = complete
          .split('\n')
          .slice(0, -1)
          .map(line => line.replace(/\r$/, ''))
          .filter(line => line !== '')
        assert.deepEqual(texts(lines), expected)
        assert.deepEqual([next, next + rest], [complete.length, content.length])
        for (const { body, at, next } of lines) {
          assert.ok(content.subarray(at, at + body.length).equals(body))
          assert.equal(content[next - 1], 0x0a)
        }
      }),
      { numRuns: 60 },
    )
  })

  test('may be any bytes but a line feed', async () => {
    const body = Buffer.from([0x22, 0xff, 0xfe, 0x00, 0xc0, 0x22])
    const { lines } = await linesOf(Buffer.concat([body, Buffer.from('\n')]))
    assert.ok(lines[0]!.body.equals(body))
  })

  test('wait for their line feed, unless the file is final', async () => {
    const content = Buffer.from('one\ntwo')
    assert.deepEqual(texts((await linesOf(content)).lines), ['one'])
    assert.deepEqual(texts((await linesOf(content, { final: true })).lines), ['one', 'two'])
    const long = Buffer.from(`one\n${'z'.repeat(700 * 1024)}`)
    assert.deepEqual(texts((await linesOf(long)).lines), ['one'])
    assert.equal((await linesOf(long, { final: true })).lines[1]!.body.length, 700 * 1024)
  })

  test('too long ones are cut even if they fit into one read', async () => {
    const content = Buffer.from(`${'a'.repeat(20)}\n${'b'.repeat(10)}\n${'c'.repeat(11)}`)
    const { lines } = await linesOf(content, { max: 10, final: true })
    assert.deepEqual(
      lines.map(({ body, bytes }) => `${body} ${bytes}`),
      ['aaaaaaaaaa 20', 'bbbbbbbbbb 10', 'cccccccccc 11'],
    )
  })

  test('too long ones keep their beginning and their length, and the next line is whole', async () => {
    const content = Buffer.concat([Buffer.alloc(50 * 1024 * 1024, 'h'), Buffer.from('\nnext\n')])
    const before = process.memoryUsage().arrayBuffers
    const { lines } = await linesOf(content)
    assert.deepEqual(
      lines.map(({ body, bytes }) => [body.length, bytes]),
      [
        [64 * 1024, 50 * 1024 * 1024],
        [4, 4],
      ],
    )
    assert.ok(process.memoryUsage().arrayBuffers - before < 20 * 1024 * 1024, 'the line was kept in memory')
  })
})
