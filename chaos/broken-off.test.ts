import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { allCells, cellName, readCells } from './cell.ts'
import type { Stage } from './faults/stage.ts'
import { readOptions } from './options.ts'
import { planFaults } from './plan/faults.ts'
import { actOnStage } from './play-cell.ts'
import { toRecord } from './record.ts'
import { produceMsOf, repeatOptions } from './repeat.ts'
import { type CellResult, type Play, runCell } from './run-cell.ts'
import { runCells } from './run-cells.ts'
import { totalsOf } from './totals.ts'

const clean = { lost: [], doubled: [], outOfOrder: [], unexplained: [] }
const nothing = { messages: 5, happened: {}, missed: [], verdict: clean }
const breaks = 'the broker did not start'

/** Two cells, of which the first breaks off after one fault. */
async function run(t: TestContext, play: Play, signal = new AbortController().signal) {
  const found: CellResult[] = []
  const options = readOptions(['--cells', 'postgres/direct,kafka/direct', '--seed', '7', '--minutes', '2'])
  const available = { disk: null, clock: null }
  const machine = {
    available,
    clockLibrary: null,
    say: () => {},
    found: (one: CellResult) => found.push(one),
  }
  const results = await runCells(options, machine, signal, play)
  t.after(() => {
    for (const { folder } of results) if (folder !== null) rmSync(folder, { recursive: true })
  })
  return { found, results }
}

describe('a cell that breaks off', () => {
  const play: Play = async ({ cell }, { folder, log }) => {
    if (cell.source === 'postgres') return nothing
    log.add('fault', { kind: 'kill broker' })
    writeFileSync(join(folder, 'sent.jsonl'), `${JSON.stringify({ what: 'confirmed', id: 'a' })}\n`)
    throw new Error(breaks)
  }

  test('is a failed run with its files, and the next cell runs', async t => {
    const { results, found } = await run(t, play)
    assert.deepEqual(found, results)
    assert.deepEqual(
      results.map(({ cell, ok }) => [cell, ok]),
      [
        ['kafka/direct', false],
        ['postgres/direct', true],
      ],
    )
    const [broken] = results as [CellResult, CellResult]
    assert.match(broken.brokeOff!, /the broker did not start/)
    assert.deepEqual([broken.messages, broken.happened], [1, { 'kill broker': 1 }])
    for (const file of ['events.jsonl', 'sent.jsonl', 'verdict.json'])
      assert.ok(existsSync(join(broken.folder!, file)), file)
    assert.match(readFileSync(join(broken.folder!, 'events.jsonl'), 'utf8'), /broke off/)
  })

  test('is in the totals and in the record', async t => {
    const { results } = await run(t, play)
    const { ok, messages, unexplained, kills } = totalsOf(results)
    assert.deepEqual([ok, messages, unexplained, kills], [false, 6, 1, { 'kill broker': 1 }])
    const recorded = toRecord(results[0]!)
    assert.deepEqual([recorded.brokeOff, recorded.minutes, recorded.unexplained], [`Error: ${breaks}`, 1, 1])
    assert.equal(toRecord(results[1]!).brokeOff, undefined)
  })

  test('because the command is to end, it is none', async t => {
    const abort = new AbortController()
    const { results } = await run(
      t,
      async (_request, { folder }) => {
        t.after(() => rmSync(folder, { recursive: true }))
        abort.abort(new Error('SIGINT'))
        throw new Error('stopped')
      },
      abort.signal,
    )
    assert.deepEqual(results, [])
  })

  test('because it hangs, ends at its deadline', async t => {
    const [cell] = readCells('kafka/direct')
    const machine = { available: { disk: null, clock: null }, clockLibrary: null, say: () => {} }
    const time = { produceMs: 6_000, deadlineMs: 20 }
    const request = { cell: cell!, seed: 7, ...time, short: false, keep: false, ...machine }
    const hangs: Play = (_request, _files, signal) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
      )
    // Only an unreferenced timer is left: the process would end before it.
    const alive = setInterval(() => {}, 1_000)
    t.after(() => clearInterval(alive))
    const { brokeOff, folder, ok } = await runCell(request, new AbortController().signal, hangs)
    t.after(() => rmSync(folder!, { recursive: true }))
    assert.equal(ok, false)
    assert.match(brokeOff!, /TimeoutError/)
  })

  test('leaves the logs of its servers while they still run', async t => {
    const folder = mkdtempSync(join(tmpdir(), 'chaos-remains-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const logFile = join(folder, 'server.log')
    writeFileSync(logFile, 'PANIC')
    const noted: string[] = []
    const stage = {
      folder,
      settings: { outside: { databaseUrl: 'postgresql://127.0.0.1:1/none' }, sendLog: join(folder, 'none') },
      database: { primary: { logFiles: () => [logFile] } },
      broker: { logFiles: () => [] },
      fleet: { halts: [] },
      log: { add: (what: string) => noted.push(what) },
    } as unknown as Stage
    const plan = { processes: [], servers: [], people: [] }
    await assert.rejects(
      actOnStage(stage, plan, () => Promise.reject(new Error(breaks))),
      new Error(breaks),
    )
    assert.match(readFileSync(join(folder, `server-0-${folder.split('/').at(-1)}.log`), 'utf8'), /PANIC/)
    assert.deepEqual(noted, ['evidence not kept'])
  })
})

describe('the options that repeat a cell', () => {
  test('plan the same time for any minutes and number of cells', () => {
    const ran = { cell: 'kafka/standby', seed: 91, short: false } as CellResult
    for (let minutes = 0.1; minutes < 40; minutes += 0.37)
      for (let cells = 1; cells <= 12; cells++) {
        const produceMs = produceMsOf(minutes, cells)
        const again = readOptions(repeatOptions({ ...ran, produceMs }))
        assert.equal(produceMsOf(again.minutes, again.cells.length), produceMs)
      }
  })

  test('plan the same faults, in the short form too', () => {
    for (const cell of allCells)
      for (const short of [true, false]) {
        const ran = { cell: cellName(cell), seed: 91, produceMs: produceMsOf(7, 3), short } as CellResult
        const again = readOptions(repeatOptions(ran))
        const planned = { seed: again.seed, produceMs: produceMsOf(again.minutes, 1), short: again.short }
        const available = { disk: null, clock: null }
        assert.deepEqual(again.cells, [cell])
        assert.deepEqual(planFaults(cell, planned, available), planFaults(cell, ran, available))
      }
  })
})
