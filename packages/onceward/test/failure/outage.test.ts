import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { until } from 'onceward/testing'
import { readStatus } from '../../src/telemetry/read-status.ts'
import { skipWithout } from '../services/services.ts'
import { type JobContext, Scene } from '../work/scene.ts'

/** A downstream that can go away and come back on the same port. */
class Downstream {
  #server: Server | null = null
  #port = 0
  calls = 0

  get url(): string {
    return `http://127.0.0.1:${this.#port}/`
  }

  async open(): Promise<void> {
    const server = createServer((_request, response) => {
      this.calls++
      response.end('ok')
    })
    await new Promise<void>(resolve => server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (server.address() as AddressInfo).port
    this.#server = server
  }

  async close(): Promise<void> {
    const server = this.#server
    this.#server = null
    server?.closeAllConnections()
    if (server !== null) await new Promise(resolve => server.close(resolve))
  }
}

describe('an unavailable dependency', await skipWithout('postgres'), () => {
  let scene: Scene
  const downstream = new Downstream()
  before(async () => {
    scene = await Scene.open()
    await downstream.open()
  })
  after(async () => {
    await downstream.close()
    await scene.close()
  })

  const pausedIn = async (name: string) =>
    (await readStatus(scene.pool)).consumers.find(consumer => consumer.name === name)?.pausedBecause ?? null
  const count = async (table: string, name: string) => {
    const sql = `select count(*)::int as count from onceward.${table} where consumer_id = (select id from onceward.consumer where name = $1)`
    return (await scene.pool.query(sql, [name])).rows[0].count as number
  }

  for (const mode of ['block', 'defer'] as const) {
    test(`uses no attempt and sets nothing aside, and the backlog is applied afterwards (${mode})`, async () => {
      const name = `outage_${mode}`
      const jobs = Array.from({ length: 300 }, (_, n) => ({ id: `j${n}` }))
      await downstream.close()
      await scene.publish(name, ...jobs)
      const running = await scene.start(name, {
        inbox: { mode: 'transactional' },
        failure: {
          mode,
          attemptsMax: 2,
          delayMs: 10,
          breaker: { failuresMax: 3, pauseMs: 50, pauseMaxMs: 200 },
        },
        handle: async ({ message, tx, signal }: JobContext) => {
          await fetch(downstream.url, { signal })
          await tx.query('insert into done (consumer, id, by) values ($1, $2, 0)', [name, message.id])
        },
      })
      await until('the pause is seen', async () => (await pausedIn(name)) === 'ECONNREFUSED')
      const before = scene.counted('outcomes retry')
      await until('it was probed some times', () => scene.counted('outcomes retry') > before + 5)
      assert.notEqual(running.consumer!.tally.breaker, 'closed')
      assert.equal(await count('attempt', name), 0)
      assert.equal(await count('held', name), 0)
      await downstream.open()
      await until('all got through', async () => (await scene.done(name)).length === jobs.length)
      await until('nobody is paused', async () => (await pausedIn(name)) === null)
      assert.equal(await count('attempt', name), 0)
      assert.equal(running.consumer!.tally.breaker, 'closed')
      await running.drain()
    })
  }
})
