import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from 'onceward/testing'
import { openKafka, randomName } from '../../packages/onceward/test/kafka/fixture.ts'
import { skipWithout } from '../../packages/onceward/test/services/services.ts'

const main = fileURLToPath(new URL('../../packages/onceward/src/cli/main.ts', import.meta.url))
const contract = fileURLToPath(new URL('payment-converter.ts', import.meta.url))

describe('payments converted from topic to topic', await skipWithout('kafka'), () => {
  it('through kills and hostile records: each output and each dead letter once, in order', async t => {
    const scene = await openScene(t)
    await scene.pay(0, 200)
    await scene.hostile('not json')
    for (let kill = 0; kill < 2; kill++) {
      const dying = scene.start(['run', contract, '--no-metrics'])
      const before = (await scene.read('converted')).length
      await until('some are converted', async () => (await scene.read('converted')).length > before)
      dying.child.kill('SIGKILL')
      await dying.ended
      await scene.pay(200 + kill * 50, 50)
    }
    const running = scene.start(['run', contract, '--no-metrics', '--json'])
    await until('all are converted', async () => (await scene.read('converted')).length >= 270, {
      deadlineMs: 60_000,
    })
    await until('the rest is dead', async () => (await scene.read('dead')).length >= 31)
    running.child.kill('SIGTERM')
    const { code, stdout } = await running.ended
    assert.equal(code, 0)
    assert.equal(JSON.parse(stdout.trim().split('\n').at(-1)!).ok, true)

    const converted = await scene.read('converted')
    const ids = converted.map(({ headers }) => headers['message-id']!)
    const wanted = Array.from({ length: 300 }, (_, n) => n).filter(n => n % 10 !== 0)
    assert.deepEqual(ids.toSorted(), wanted.map(n => `payment-${n}`).toSorted())
    for (const [, some] of Map.groupBy(converted, ({ key }) => key)) {
      const numbers = some.map(({ headers }) => Number(headers['message-id']!.split('-')[1]))
      assert.deepEqual(
        numbers,
        numbers.toSorted((a, b) => a - b),
      )
    }
    const dead = await scene.read('dead')
    assert.equal(dead.length, 31)
    const codes = Map.groupBy(dead, ({ headers }) => headers['onceward-code'])
    assert.deepEqual([codes.get('rate_of_euro')?.length, codes.get('undecodable')?.length], [30, 1])
  })

  it('reports its health, and is reviewed like a consumer', async t => {
    const scene = await openScene(t)
    await scene.pay(1, 9)
    const running = scene.start(['run', contract, '--metrics-port', '0'])
    await until('it serves metrics', () => /url=\S+|"url":"[^"]+"/.test(running.output.stderr))
    const url = /https?:\/\/[\d.:]+/.exec(running.output.stderr)![0]
    await until('it is ready', async () => (await fetch(`${url}/readyz`)).ok)
    await until('all are converted', async () => (await scene.read('converted')).length === 9)
    const counted = /onceward_consumer_applied_messages_total\{[^}]*consumer="payment_converter"[^}]*\} 9/
    await until('all are counted', async () => counted.test(await (await fetch(`${url}/metrics`)).text()))
    running.child.kill('SIGTERM')
    assert.equal((await running.ended).code, 0)

    const check = await scene.start(['check', contract, '--live', '--json']).ended
    const report = JSON.parse(check.stdout) as { counts: { error: number }; findings: { id: string }[] }
    assert.equal(report.counts.error, 0, check.stdout)
    assert.ok(!report.findings.some(({ id }) => id.startsWith('OW4')), 'no database is asked')
    const page = (await scene.start(['contract', contract]).ended).stdout
    assert.match(page, /# Transform contract: `payment_converter`/)
    assert.match(page, /4 attempts, then it is dead-lettered/)
  })
})

async function openScene(t: TestContext) {
  const kafka = await openKafka(t)
  const topics = {
    raw: await kafka.createTopic({ partitions: 3 }),
    converted: await kafka.createTopic({ partitions: 3 }),
    large: await kafka.createTopic({ partitions: 3 }),
    dead: await kafka.createTopic(),
  }
  const env = {
    ...process.env,
    ONCEWARD_KAFKA_BOOTSTRAP: kafka.bootstrap,
    PAYMENTS_RAW: topics.raw,
    PAYMENTS_CONVERTED: topics.converted,
    PAYMENTS_LARGE: topics.large,
    PAYMENTS_DEAD: topics.dead,
    PAYMENTS_GROUP: randomName('group'),
    PAYMENTS_INSTANCE: 'one',
  }
  return {
    read: (name: keyof typeof topics) => kafka.read(topics[name]),
    async pay(first: number, count: number) {
      const payments = Array.from({ length: count }, (_, index) => first + index).map(n => ({
        key: `card-${n % 7}`,
        value: JSON.stringify({
          paymentId: `payment-${n}`,
          card: `card-${n % 7}`,
          amount: 1_000,
          currency: 'EUR',
          rate: n % 10 === 0 ? 2 : 1,
        }),
      }))
      await kafka.produce(topics.raw, payments)
    },
    hostile: (value: string) => kafka.produce(topics.raw, [{ value, key: 'card-0' }]),
    start(args: readonly string[]) {
      const child = spawn(process.execPath, ['--conditions=@onceward/source', main, ...args], { env })
      t.after(() => child.kill('SIGKILL'))
      const output = { stdout: '', stderr: '' }
      child.stdout.on('data', chunk => {
        output.stdout += chunk
      })
      child.stderr.on('data', chunk => {
        output.stderr += chunk
      })
      const ended = new Promise<{ code: number | null; stdout: string }>(resolve =>
        child.once('close', code => resolve({ code, stdout: output.stdout })),
      )
      return { child, output, ended }
    },
  }
}
