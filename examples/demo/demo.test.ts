import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  kafkaBootstrap,
  rabbitmqStreamUrl,
  rabbitmqUrl,
  skipWithout,
} from '../../packages/onceward/test/services/services.ts'

const main = fileURLToPath(new URL('./main.ts', import.meta.url))

/** Where these demos put what they need: beside it others may be running one of the same seed. */
const folder = mkdtempSync(join(tmpdir(), 'onceward-demos-'))
// mkdtemp makes it 0700, and then the server of a root user would keep its data elsewhere.
chmodSync(folder, 0o755)
after(() => rmSync(folder, { recursive: true, force: true }))

function startDemo(args: readonly string[], env: NodeJS.ProcessEnv = process.env): ChildProcess {
  const flags = ['--conditions=@onceward/source', '--disable-warning=ExperimentalWarning']
  return spawn(process.execPath, [...flags, main, ...args], {
    env: { ...env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function outcomeOf(demo: ChildProcess) {
  const [stdout, stderr, [code]] = await Promise.all([
    text(demo.stdout!),
    text(demo.stderr!),
    once(demo, 'exit'),
  ])
  return { stdout, stderr, code: code as number }
}

const foldersLeft = (seed: number) =>
  readdirSync(folder).filter(name => name.startsWith(`onceward-demo-${seed}-`))

/** A small run, whole: it must be right, and it must have been hard. */
async function provesItself(args: readonly string[], seed: number, env?: NodeJS.ProcessEnv): Promise<void> {
  const demo = startDemo(['--json', '--messages', '600', '--seed', String(seed), ...args], env)
  try {
    const { stdout, stderr, code } = await outcomeOf(demo)
    const lines = stdout.trim().split('\n')
    const verdict = JSON.parse(lines.at(-1)!) as Record<string, number> & {
      checks: { ok: boolean; name: string }[]
    }
    const failed = verdict.checks.filter(check => !check.ok)
    assert.deepEqual(failed, [], stderr)
    assert.equal(code, 0)
    assert.deepEqual([verdict.ok, verdict.lost, verdict.doubled, verdict.produced], [true, 0, 0, 600])
    assert.equal(verdict.applied, verdict.captures)
    assert.equal(verdict.charges, verdict.captures)
    assert.ok(verdict.kills! >= 6 && verdict.duplicates! >= 120)
    assert.ok(verdict.conflicts! > 0 && verdict.quarantined! >= verdict.conflicts!)
    assert.deepEqual(foldersLeft(seed), [])
  } finally {
    demo.kill('SIGTERM')
  }
}

const rabbitmq = await skipWithout('rabbitmq')
const kafka = await skipWithout('kafka')

describe('the demo', () => {
  it('loses nothing and charges nothing twice on the embedded broker', () => provesItself([], 41))

  it('loses nothing and charges nothing twice over RabbitMQ', rabbitmq, async () => {
    await provesItself(['--broker', 'rabbitmq'], 42, {
      ...process.env,
      ONCEWARD_RABBITMQ_URL: await rabbitmqUrl(),
    })
  })

  it('loses nothing and charges nothing twice over a RabbitMQ super stream', rabbitmq, async () => {
    await provesItself(['--broker', 'stream'], 44, {
      ...process.env,
      ONCEWARD_RABBITMQ_URL: await rabbitmqUrl(),
      ONCEWARD_RABBITMQ_STREAM_URL: await rabbitmqStreamUrl(),
    })
  })

  it('loses nothing and charges nothing twice over a Kafka topic', kafka, async () => {
    await provesItself(['--broker', 'kafka'], 45, {
      ...process.env,
      ONCEWARD_KAFKA_BOOTSTRAP: await kafkaBootstrap(),
    })
  })

  it('leaves nothing behind when it is interrupted', async () => {
    const demo = startDemo(['--messages', '2000', '--seed', '43'])
    const exited = once(demo, 'exit')
    let said = ''
    demo.stdout!.on('data', chunk => {
      if (!said.includes('kill -9') && `${said}${chunk}`.includes('kill -9')) demo.kill('SIGINT')
      said += chunk
    })
    demo.stderr!.resume()
    await exited
    assert.match(said, /kill -9/)
    assert.equal(demo.exitCode, 130)
    assert.deepEqual(foldersLeft(43), [])
    assert.ok(!execFileSync('ps', ['-eo', 'args']).toString().includes(join(folder, 'onceward-demo-43-')))
  })

  it('refuses a wrong number of messages before it starts anything', async () => {
    const { stdout, code } = await outcomeOf(startDemo(['--messages', 'many', '--json']))
    assert.equal(code, 2)
    assert.match(stdout, /--messages must be a whole number/)
  })
})
