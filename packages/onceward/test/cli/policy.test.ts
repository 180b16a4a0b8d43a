import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const source = new URL('../../src/', import.meta.url).href

describe('a policy file beside a consumer', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'onceward-policy-'))
    const code = `import { consumerParts } from '${source}index.ts'
import { queue } from '${source}drivers/rabbitmq/index.ts'
export default consumerParts<{ id: string }>({ name: 'orders', source: queue('orders'), identity: { id: m => m.id }, handle() {} })`
    writeFileSync(join(folder, 'orders.ts'), code)
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  const write = (text: string | Uint8Array, name = 'onceward.yaml') => writeFileSync(join(folder, name), text)
  const onceward = (args: string[], env: Record<string, string> = {}) => {
    const nowhere = { ONCEWARD_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
    const child = spawn(process.execPath, ['--conditions=@onceward/source', main, ...args], {
      cwd: folder,
      env: { ...process.env, ...nowhere, ...env },
    })
    const output = { stdout: '', stderr: '' }
    child.stdout.on('data', chunk => {
      output.stdout += chunk
    })
    child.stderr.on('data', chunk => {
      output.stderr += chunk
    })
    return new Promise<{ code: number | null; stdout: string; stderr: string }>(resolve =>
      child.once('close', code => resolve({ code, ...output })),
    )
  }
  const page = async (...args: string[]) =>
    JSON.parse((await onceward(['contract', ...args, '--json'])).stdout)

  test('is found, and another one where it is named', async () => {
    write('consumers:\n  orders: { owner: shop, risk: money }\n')
    write('consumers:\n  orders: { owner: others, risk: low value }\n', 'other.yaml')
    assert.equal((await page('orders.ts')).owner, 'shop')
    assert.equal((await page('orders.ts', '--policy', 'other.yaml')).owner, 'others')
    const named = await onceward(['contract', 'orders.ts'], { ONCEWARD_POLICY: join(folder, 'other.yaml') })
    assert.match(named.stdout, /\| Owner \| others \|/)
  })

  test('that does not exist, is a folder or a pipe is one error, at once', async () => {
    for (const path of ['missing.yaml', '.', '/dev/zero']) {
      const { code, stderr } = await onceward(['contract', 'orders.ts', '--policy', path])
      assert.equal(code, 2, path)
      assert.match(stderr, /policy file .* cannot be read: .*Nothing was started/)
    }
  })

  test('with every value wrong gives all errors at their lines, starts nothing, and shows no secret', async () => {
    write(`defaults: { ownr: x }
consumers:
  orders:
    owner: 7
    risk: some
    source: { url: amqp://shop:hunter2@broker }
    batch: { handlerTimeout: 5 }
  Other: {}
waivers: [{ rule: a }]
`)
    for (const args of [
      ['run', 'orders.ts'],
      ['contract', 'orders.ts'],
      ['retention', 'plan', 'orders.ts'],
    ]) {
      const { code, stdout, stderr } = await onceward(args)
      assert.equal(code, 2, args.join(' '))
      for (const place of ['1:13', '4:12', '5:11', '6:20', '7:30', '8:3', '9:11'])
        assert.ok(stderr.includes(`onceward.yaml:${place}: `), `${place}\n${stderr}`)
      assert.doesNotMatch(stdout + stderr, /hunter2/)
      assert.match(stderr, /Nothing was started\.\n$/)
    }
    const { stdout } = await onceward(['contract', 'orders.ts', '--json'])
    assert.equal(JSON.parse(stdout).code, 'contract_invalid')
  })

  test('with bytes that are no policy fails every command in the same way', async () => {
    for (const bytes of ['', new Uint8Array([0xff, 0x00]), 'x'.repeat(300_000), '['.repeat(5_000)]) {
      write(bytes)
      const { code, stderr } = await onceward(['run', 'orders.ts'])
      assert.equal(code, 2)
      assert.match(stderr, /onceward\.yaml:1:\d+: /)
    }
  })

  test('refers to secrets that are needed to run and not to check', async () => {
    write(
      'consumers:\n  orders:\n    owner: a\n    risk: money\n    source: { url: "${' + 'env:ORDERS_URL}" }\n',
    )
    assert.equal((await page('orders.ts')).owner, 'a')
    const { code, stderr } = await onceward(['run', 'orders.ts'])
    assert.equal(code, 2)
    assert.match(stderr, /onceward\.yaml:5:20: .*needs the environment variable ORDERS_URL, which is not set/)
    const set = await onceward(['run', 'orders.ts', '--start-timeout', '1'], {
      ORDERS_URL: 'amqp://shop:hunter2@127.0.0.1:1/',
    })
    assert.equal(set.code, 1)
    assert.doesNotMatch(set.stdout + set.stderr, /hunter2/)
  })
})
