import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createPool, migrate } from 'onceward/postgres'
import { createDatabase, rabbitmqManagementUrl, rabbitmqUrl, skipWithout } from '../services/services.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const clean = `owner: 'payments', risk: 'telemetry', source: { kind: 'rabbitmq', queue: 'no.such.queue' }, identity: { id: m => m.id },
  retention: { sourceKeeps: '2d' }, replay: { window: '1d' }, handlerVersion: '1', handle() {}`

const servers = await skipWithout('rabbitmq', 'postgres')

describe('onceward check', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'onceward-check-'))
  })
  after(() => rmSync(folder, { recursive: true }))

  const contract = (name: string, changes = '') => {
    const path = join(folder, `${name}.ts`)
    writeFileSync(path, `export default { name: '${name}', ${clean}, ${changes} }`)
    return path
  }
  const run = (args: readonly string[], variables: Record<string, string> = {}) =>
    new Promise<{ code: number; stdout: string; stderr: string }>(resolve => {
      const { PATH, NODE_COMPILE_CACHE } = process.env
      const env = { PATH, NODE_COMPILE_CACHE, HOME: folder, ...variables }
      const command = ['--conditions=@onceward/source', main, 'check', ...args]
      execFile(process.execPath, command, { env, cwd: folder }, (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
      )
    })

  test('answers 0 for a clean contract, 1 for an error, 1 for a warning only with --strict, 2 for wrong use', async () => {
    const good = contract('good')
    const warned = contract('warned', `failure: { breaker: false }`)
    const wrong = contract('wrong', `identity: { id: { header: 'x-death' } }`)
    const codes = await Promise.all([
      run([good]),
      run([warned]),
      run([warned, '--strict']),
      run([wrong]),
      run(['nothing.ts']),
      run([good, '--lvie']),
      run([]),
    ])
    assert.deepEqual(
      codes.map(one => one.code),
      [0, 0, 1, 1, 2, 2, 2],
    )
    assert.match(codes[0]!.stdout, /^1 contract checked as written.*: 0 errors, 0 warnings, 0 notes\n$/)
    assert.match(
      codes[3]!.stdout,
      /^wrong\n {2}error OW103 identity\.id reads header x-death\n.*\n {4}fix .*\n.*#ow103/,
    )
  })

  test('finds no error in the examples', async () => {
    const examples = fileURLToPath(new URL('../../../../examples', import.meta.url))
    const files = globSync('*/*.ts', { cwd: examples })
      .map(file => join(examples, file))
      .filter(file => /^export default /m.test(readFileSync(file, 'utf8')))
    assert.ok(files.length >= 9, files.join())
    const { code, stdout } = await run(files)
    assert.equal(code, 0, stdout)
  })

  test('--samples tries the identities on messages of a file, which belong to one contract', async () => {
    const file = contract(
      'sampled',
      'identity: { id: (m, { headers }) => m.id + (headers.again ?? Date.now()) }',
    )
    const other = contract('other_sampled')
    const samples = join(folder, 'samples.jsonl')
    writeFileSync(samples, '{"body":{"id":"a"},"headers":{"again":"1"}}\n\n{"id":"b"}\n')
    writeFileSync(join(folder, 'broken.jsonl'), '{"id":"a"}\n{"id":')
    const [found, two, broken, missing] = await Promise.all([
      run([file, '--samples', samples]),
      run([file, other, '--samples', samples]),
      run([file, '--samples', 'broken.jsonl']),
      run([file, '--samples', 'nothing.jsonl']),
    ])
    assert.equal(found.code, 1)
    assert.match(found.stdout, /error OW107 identity\.id depends on the clock, seen on sample 3\n/)
    assert.deepEqual([two.code, broken.code, missing.code], [2, 2, 2])
    assert.match(two.stderr, /one file with --samples/)
    assert.match(broken.stderr, /broken\.jsonl:2 is not a line of JSON/)
    assert.match(missing.stderr, /nothing\.jsonl/)
  })

  test('a contract that is refused does not keep others from being checked, and all problems are reported', async () => {
    const refused = contract('refused', `owner: '', risk: 'mony'`)
    writeFileSync(join(folder, 'broken.ts'), 'export default {{{')
    const { code, stdout } = await run([
      refused,
      'broken.ts',
      contract('other', `failure: { breaker: false }`),
      '--json',
    ])
    const { findings, counts } = JSON.parse(stdout)
    assert.equal(code, 1)
    assert.equal(counts.error, 3)
    assert.match(
      JSON.stringify(findings),
      /owner: must name.*risk: must be one of.*did you mean 'money'|broken\.ts cannot be loaded/,
    )
    assert.ok(
      findings.some(
        (one: { consumer: string; id: string }) => one.consumer === 'other' && one.id === 'OW135',
      ),
    )
  })

  test('waivers come from the policy file; one that has expired or matches nothing is a finding', async () => {
    const own = join(folder, 'waived')
    mkdirSync(own)
    const file = join(own, 'waived.ts')
    writeFileSync(file, `export default { name: 'waived', ${clean}, failure: { breaker: false } }`)
    const waiver = (rule: string, until: string) =>
      `  - rule: ${rule}\n    consumer: waived\n    reason: the vendor is away\n    owner: payments\n    until: ${until}\n`
    const policy = (text: string) =>
      writeFileSync(join(own, 'onceward.yaml'), `consumers:\n  waived: {}\nwaivers:\n${text}`)
    const look = async () => JSON.parse((await run([file, '--strict', '--json'])).stdout)
    policy(waiver('OW135', '2999-12-31'))
    const waived = await look()
    assert.equal(waived.ok, true)
    assert.equal(waived.waived, 1)
    assert.match(
      (await run([file])).stdout,
      /waived OW135 .*\n {4}until 2999-12-31, payments: the vendor is away/,
    )
    policy(waiver('OW135', '2020-01-31') + waiver('OW103', '2999-12-31'))
    const over = await look()
    assert.equal(over.ok, false)
    assert.deepEqual(over.findings.map((one: { id: string }) => one.id).sort(), ['OW135', 'OW911', 'OW912'])
    policy(`  - rule: OW135\n    reson: x\n`)
    const wrong = await look()
    assert.ok(wrong.findings.every((one: { id: string }) => one.id === 'OW100'))
    assert.match(wrong.findings[0].place, /onceward\.yaml:\d+:\d+/)
  })

  test('prints no terminal control sequences, and no colour without a terminal', async () => {
    const hostile = contract('hostile', `identity: { id: { header: 'x-opt-\\u001b[2Jevil\\u0007' } }`)
    const { stdout } = await run([hostile])
    assert.match(stdout, /OW103/)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that there are none is the point
    assert.doesNotMatch(stdout, /[\u0000-\u0009\u000b-\u001f]/)
  })

  test('--live without addresses reports what was not queried, and starts no database', async () => {
    const { stdout, code } = await run([contract('alone'), '--live', '--json'])
    const report = JSON.parse(stdout)
    assert.equal(code, 0)
    const found = report.findings.map((one: { id: string; found: string }) => `${one.id} ${one.found}`)
    assert.deepEqual(found.sort(), [
      'OW902 the address of RabbitMQ is not set (ONCEWARD_RABBITMQ_URL)',
      'OW902 the address of the database is not set (ONCEWARD_DATABASE_URL)',
    ])
  })

  test('--live compares with real servers', servers, async t => {
    const database = await createDatabase()
    t.after(() => database.drop())
    const pool = createPool(database.url)
    await migrate(pool, { environment: 'test' })
    await pool.end()
    const variables = {
      ONCEWARD_DATABASE_URL: database.url,
      ONCEWARD_RABBITMQ_URL: await rabbitmqUrl(),
      ONCEWARD_RABBITMQ_MANAGEMENT_URL: (await rabbitmqManagementUrl())!,
      ONCEWARD_ENVIRONMENT: 'test',
    }
    const missing = contract(
      'missing',
      `source: { kind: 'rabbitmq', queue: 'no.such.queue', declare: 'verify' }`,
    )
    const unsaid = contract('unsaid', `retention: { markers: '7d' }`)
    const { stdout, code } = await run([missing, unsaid, '--live', '--json'], variables)
    const idsOf = (consumer: string | null) =>
      JSON.parse(stdout)
        .findings.filter((one: { consumer: string | null }) => one.consumer === consumer)
        .map((one: { id: string }) => one.id)
    assert.equal(code, 1)
    assert.deepEqual(idsOf('missing'), ['OW201', 'OW182'].sort())
    assert.ok(idsOf('unsaid').includes('OW502'), stdout)
    assert.ok(idsOf(null).includes('OW414'))
  })
})
