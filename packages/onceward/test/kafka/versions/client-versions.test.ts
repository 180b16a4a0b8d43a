import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { projectFiles } from '../../../src/cli/init/project.ts'
import { newestOf, peer, withVersion } from '../../registry/other-versions.ts'

const run = promisify(execFile)
const client = '@platformatic/kafka'
const { range, here } = peer(client)
const oldest = range.replace('^', '')
const inRange = (version: string) => version.split('.')[0] === oldest.split('.')[0]

/** What our code sends with the client of a folder; with the repository's own without one. */
async function recorded(...folder: string[]): Promise<{ sent: object; values: object }> {
  const program = fileURLToPath(new URL('record-process.ts', import.meta.url))
  const flags = ['--conditions=@onceward/source', '--disable-warning=ExperimentalWarning']
  const { stdout } = await run(process.execPath, [...flags, program, ...folder])
  return JSON.parse(stdout)
}

const sendsTheSame = (version: string) =>
  withVersion(client, version, async folder => assert.deepEqual(await recorded(folder), await recorded()))

describe('the Kafka client, an optional peer', () => {
  test('is declared as a range, the same in the package and in what "onceward init" writes', () => {
    assert.match(range, /^\^\d+\.\d+\.\d+$/)
    const files = projectFiles({ name: 'a', owner: 'b', risk: 'money', source: 'kafka' }, '0.1.0')
    assert.equal(JSON.parse(files['package.json']!).dependencies[client], range)
  })

  test('every sample is a request, and no two are the same', async () => {
    const sent = Object.values((await recorded()).sent) as { key: number; version: number; bytes: string }[]
    assert.equal(new Set(sent.map(({ key, version }) => `${key} v${version}`)).size, sent.length)
    for (const { bytes } of sent) assert.match(bytes, /^[0-9a-f]*$/)
  })

  test('of the oldest version in the range sends the same bytes', async t => {
    const found = await newestOf(client)
    if ('skip' in found) return t.skip(found.skip)
    await sendsTheSame(oldest)
  })

  test('of the newest version in the registry sends the same bytes', async t => {
    const found = await newestOf(client)
    if ('skip' in found) return t.skip(found.skip)
    const { version } = found
    if (version === here) return t.skip(`${version} is installed here, and every Kafka test runs with it`)
    if (inRange(version)) return await sendsTheSame(version)
    const differs = await sendsTheSame(version).then(
      () => 'sends the same bytes: the range may be widened',
      (error: Error) => `is another client to us: ${error.message.split('\n')[0]}`,
    )
    t.skip(`${version} is outside of ${range} and ${differs}`)
  })
})
