import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { Consumer } from '../../src/contract/define-consumer.ts'
import { check } from '../../src/review/check.ts'
import { loadContract } from '../../src/runtime/load-consumer.ts'
import { root } from '../docs/pages.ts'

const examples = join(root, 'examples')
const files = globSync('*/*.ts', { cwd: examples })
  .filter(file => /^export default /m.test(readFileSync(join(examples, file), 'utf8')))
  .sort()

const settings = {
  gatewayUrl: 'http://127.0.0.1:1',
  deadLetters: 'demo.dead',
  queue: 'demo',
}

async function errorsOf(file: string, consumer: Consumer) {
  const { findings } = await check([{ file, consumer }], { waivers: [], today: '2026-11-19' })
  return findings.filter(({ severity }) => severity === 'error').map(({ id, found }) => `${id}: ${found}`)
}

describe('check finds no error in the contract of', () => {
  test('every example: each directory has one', () => {
    const without = globSync('[0-9]*', { cwd: examples }).filter(
      one => !files.some(file => dirname(file) === one),
    )
    assert.deepEqual(without, [])
  })

  for (const file of files)
    test(`examples/${file}`, async () => {
      const path = join(examples, file)
      const policy = join(dirname(path), 'onceward.yaml')
      const consumer = await loadContract(path, existsSync(policy) ? { policy, looking: true } : {})
      assert.deepEqual(await errorsOf(basename(file), consumer as Consumer), [])
    })

  for (const broker of ['postgres', 'rabbitmq', 'stream', 'kafka'])
    test(`the demo on ${broker}`, async () => {
      const url = pathToFileURL(join(examples, 'demo/payment-capture.ts')).href
      const { paymentCapture } = await import(url)
      assert.deepEqual(await errorsOf('demo', await paymentCapture({ ...settings, broker }, 'worker 1')), [])
    })
})
