import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skipWithoutPrivateRabbitmq } from '../packages/onceward/test/services/private-rabbitmq.ts'
import { skipWithout } from '../packages/onceward/test/services/services.ts'
import { runChaos } from './run-command-line.ts'

const skips: Readonly<Record<string, { readonly skip?: string }>> = {
  postgres: {},
  quorum: await skipWithoutPrivateRabbitmq(),
  stream: await skipWithoutPrivateRabbitmq(),
  kafka: await skipWithout('kafka'),
}

/** A run of some seconds on one source, under kills and redrives. */
export function testShortForm(source: 'postgres' | 'quorum' | 'stream' | 'kafka'): void {
  const cell = `${source}/direct`
  test(`${cell}: nothing is lost, doubled, out of order or unexplained under kills`, {
    ...skips[source],
  }, async () => {
    const run = runChaos(['--short', '--cells', cell, '--minutes', '0.1'])
    const { ok, messages, kills, ...wrong } = await run.totals()
    assert.deepEqual(wrong, { lost: 0, doubled: 0, outOfOrder: 0, unexplained: 0 }, run.said())
    assert.equal(ok, true, run.said())
    assert.equal(await run.ended, 0)
    assert.ok(messages >= 150, `${messages} messages`)
    for (const kind of ['kill consumer', 'kill worker', 'kill dispatcher', 'kill relay', 'redrive'])
      assert.ok((kills[kind] ?? 0) > 0, kind)
  })
}
