import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openReplay, runConsumer } from 'onceward'
import { file } from 'onceward/file'
import { createPool } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { until } from 'onceward/testing'
import { acceptServer, readRestore } from '../../src/operations/server/incarnations.ts'
import { applying, effects, facts, prepare, refusalOf } from './scene.ts'
import { ask, Servers } from './servers.ts'

const lines = (prefix: string, count: number) =>
  facts(prefix, count)
    .map(fact => `${JSON.stringify(fact)}\n`)
    .join('')

describe('a database restored to an earlier time', () => {
  test('starts no consumer until a person accepts it, then continues from its state; an archive restores the rest', async () => {
    await using servers = new Servers()
    const folder = mkdtempSync(join(tmpdir(), 'onceward-restored-'))
    const path = join(folder, 'facts.jsonl')
    const primary = await servers.primary()
    await prepare(primary)
    const backup = await servers.copy(primary)
    const consumer = applying({ source: file(path, { until: 'end' }) })
    const run = async (databaseUrl: string) => {
      const running = await runConsumer(consumer, { databaseUrl })
      await running.finished
    }
    appendFileSync(path, lines('before', 30))
    await run(primary.url)
    await ask(primary, `select pg_create_restore_point('before')::text`)
    appendFileSync(path, lines('after', 20))
    await run(primary.url)
    assert.equal(await ask(primary, effects), '50 of 1')
    await ask(primary, `select pg_walfile_name(pg_switch_wal())`)
    await until(
      'the log is archived',
      async () =>
        (await ask(
          primary,
          'select last_archived_wal is not null and failed_count = 0 from pg_stat_archiver',
        )) === true,
    )
    await primary.stop()

    const restored = await servers.restored(backup, { recovery_target_name: 'before' })
    assert.equal(await ask(restored, effects), '30 of 1')
    const start = () => runConsumer(consumer, { databaseUrl: restored.url })
    assert.equal(await refusalOf(start()), 'server_changed')
    await assert.rejects(
      openReplay(consumer, { databaseUrl: restored.url }).then(replay =>
        replay
          .create({ mode: 'replay', selection: { of: 'file', path }, reason: 'too early' })
          .finally(() => replay.close()),
      ),
      { code: 'server_changed' },
    )
    const pool = createPool(restored.url, { max: 1 })
    const { open, exposures } = await readRestore(pool)
    assert.equal(exposures[0]?.keeper, 'store')
    await acceptServer(pool, Number(open!.id), 'restored after the deletion')
    await run(restored.url)
    assert.equal(await ask(restored, effects), '50 of 1', 'read on from the position that was restored')

    // Had it read a queue, what was settled would be gone from there, and only the producer's archive would
    // have it.
    const ofQueue = applying({ source: queue('facts'), replay: { modes: ['backfill'] } })
    appendFileSync(path, lines('settled', 10))
    const replay = await openReplay(ofQueue, { databaseUrl: restored.url })
    const selection = { of: 'file', path } as const
    const { id } = await replay.create({ mode: 'backfill', selection, reason: 'lost in the restore' })
    await replay.preview(id)
    await replay.run(id)
    await replay.close()
    assert.equal(await ask(restored, effects), '60 of 1')
    await pool.end()
    rmSync(folder, { recursive: true })
  })
})
