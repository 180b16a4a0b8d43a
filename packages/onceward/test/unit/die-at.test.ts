import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type CrashPoint, dieAt } from 'onceward/testing'

const entry = import.meta.resolve('onceward/testing')

/** A process that passes a point some times and then says that it survived. */
async function live(options: object, passages: number, stdio: 'file' | 'descriptor' = 'file') {
  const code = `
    import { dieAt } from ${JSON.stringify(entry)}
    const reach = dieAt('batch.committed', ${JSON.stringify(options)})
    for (let n = 0; n < ${passages}; n++) { reach('batch.claimed'); reach('batch.committed') }
    console.log('survived')`
  const child = spawn(
    process.execPath,
    ['--conditions=@onceward/source', '--input-type=module-typescript', '-e', code],
    {
      stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    },
  )
  let [out, witness] = ['', '']
  child.stdout!.on('data', chunk => (out += chunk))
  child.stdio[3]!.on('data', (chunk: Buffer) => (witness += chunk))
  const [, signal] = await once(child, 'close')
  return { signal, out, witness: stdio === 'descriptor' ? witness : '' }
}

test('a process is killed by SIGKILL at the given passage, and the witness records it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'onceward-die-'))
  try {
    const witness = join(folder, 'witness')
    const { signal, out } = await live({ hit: 3, witness }, 5)
    assert.equal(signal, 'SIGKILL')
    assert.equal(out, '')
    assert.equal(readFileSync(witness, 'utf8'), 'died at batch.committed, passage 3\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('the witness may be an open descriptor', async () => {
  const { signal, witness } = await live({ witness: 3 }, 1, 'descriptor')
  assert.equal(signal, 'SIGKILL')
  assert.equal(witness, 'died at batch.committed, passage 1\n')
})

test('a point passed too rarely does not kill the process', async () => {
  const { signal, out } = await live({ hit: 3 }, 2)
  assert.equal(signal, null)
  assert.equal(out, 'survived\n')
})

test('a point that does not exist is refused, naming those that do', () => {
  assert.throws(() => dieAt('batch.commited' as CrashPoint), { code: 'usage', message: /batch\.committed/ })
})
