import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { createPool, createQueue, migrate, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { createDatabase, skipWithout } from '../services/services.ts'
import { openFolder } from './cli-process.ts'

describe('onceward run --processes 2', await skipWithout('postgres'), () => {
  test('applies each message once in both, shows one page, and survives the crash of one', async () => {
    await using env = await openScene()
    const { child, output, ended } = env.run('2')
    await until('both processes are ready', async () => (await env.page(output, '/readyz'))?.status === 200, {
      deadlineMs: 60_000,
    })
    const first = childrenOf(child.pid!)
    assert.equal(first.length, 2)
    await env.publish('before', 2_000)
    await until('all are applied', async () => (await env.applied()).ids === 2_000, { deadlineMs: 60_000 })
    process.kill(first[0]!, 'SIGKILL')
    await env.publish('after', 2_000)
    await until(
      'it was restarted',
      () => childrenOf(child.pid!).filter(pid => pid !== first[0]).length === 2,
      {
        deadlineMs: 60_000,
      },
    )
    await until('all are applied', async () => (await env.applied()).ids === 4_000, { deadlineMs: 60_000 })
    await until('both are ready again', async () => (await env.page(output, '/readyz'))?.status === 200, {
      deadlineMs: 60_000,
    })
    const { text } = (await env.page(output, '/metrics'))!
    assert.deepEqual(
      [...text.matchAll(/^onceward_consumer_up\{process="(\d)"/gm)].map(([, process]) => process),
      ['1', '2'],
    )
    assert.equal(text.match(/^# TYPE onceward_consumer_up /gm)!.length, 1)
    child.kill('SIGTERM')
    const end = await ended
    assert.equal(end.code, 0, end.stderr)
    assert.deepEqual(await env.applied(), { ids: 4_000, times: 4_000 })
    const { outcomes } = JSON.parse(end.stdout) as { outcomes: Record<string, number> }
    assert.ok(outcomes.applied! > 0 && outcomes.applied! <= 4_000, end.stdout)
  })

  test('ends with the error of a process that cannot start, and leaves none behind', async () => {
    await using env = await openScene()
    await env.query('drop schema onceward cascade')
    const { child, ended } = env.run('2')
    const end = await ended
    assert.notEqual(end.code, 0)
    assert.match(end.stdout + end.stderr, /onceward migrate/)
    assert.doesNotMatch(end.stderr, /crashed, restarting/)
    assert.deepEqual(childrenOf(child.pid!), [])
  })

  for (const count of ['0', 'many', '65'])
    test(`refuses --processes ${count}`, async () => {
      await using env = await openScene()
      const end = await env.run(count).ended
      assert.equal(end.code, 2)
      assert.match(end.stdout, /--processes/)
    })
})

function childrenOf(pid: number): number[] {
  try {
    return execFileSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' })
      .trim()
      .split('\n')
      .map(Number)
  } catch {
    return []
  }
}

async function openScene() {
  const database = await createDatabase()
  const pool = createPool(database.url)
  await migrate(pool)
  await pool.query('create table applied (id text not null)')
  await createQueue(pool, 'work')
  const folder = openFolder()
  const file = folder.consumer(
    'busy',
    `postgresQueue('work')`,
    `await tx.query('insert into applied (id) values ($1)', [message.id])`,
    'batch: { sizeMax: 20 },',
  )
  return {
    query: (text: string) => pool.query(text),
    run: (processes: string) =>
      folder.start(['run', file, '--processes', processes, '--json'], {
        ONCEWARD_DATABASE_URL: database.url,
        ONCEWARD_METRICS_PORT: '0',
      }),
    async publish(name: string, count: number) {
      const bodies = Array.from({ length: count }, (_, n) => ({
        body: JSON.stringify({ id: `${name}-${n}` }),
      }))
      await publish(pool, 'work', bodies)
    },
    async applied() {
      const { rows } = await pool.query(
        'select count(distinct id)::int as ids, count(*)::int as times from applied',
      )
      return rows[0] as { ids: number; times: number }
    },
    /** Null while the supervisor does not serve yet. */
    async page(output: { stderr: string }, path: string) {
      const url = /"url":"(http:[^"]+)"/.exec(output.stderr)?.[1]
      if (url === undefined) return null
      const answer = await fetch(`${url}${path}`)
      return { status: answer.status, text: await answer.text() }
    },
    async [Symbol.asyncDispose]() {
      folder[Symbol.dispose]()
      await pool.end()
      await database.drop()
    },
  }
}
