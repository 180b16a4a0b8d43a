import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { until } from '../../src/testing/until.ts'
import { skipWithoutPrivateRabbitmq } from './private-rabbitmq.ts'

const module = new URL('./private-rabbitmq.ts', import.meta.url).href

/** Starts a broker, kills and restarts it, says where it is, and stays until it is told to end. */
const child = `
  import { startPrivateRabbitmq } from ${JSON.stringify(module)}
  const broker = await startPrivateRabbitmq({
    configuration: ports => ['listeners.tcp.2 = 127.0.0.1:' + ports.amqpTls],
    files: { 'note.txt': 'readable' },
  })
  await broker.kill()
  await broker.start()
  broker.freeze()
  broker.resume()
  process.stdout.write(JSON.stringify({ url: broker.url, folder: broker.folder }) + '\\n')
  process.stdin.on('data', () => { throw new Error('the test failed') })`

/** Of the command lines that name the folder or the node. */
const processesNaming = (text: string) =>
  readdirSync('/proc').filter(pid => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)
    } catch {
      return false
    }
  })

describe('a private RabbitMQ', async () => {
  const skip = await skipWithoutPrivateRabbitmq()

  for (const end of ['an uncaught error', 'kill -9'] as const) {
    it(`leaves no process behind when its test process ends by ${end}`, skip, async () => {
      const testProcess = spawn(process.execPath, ['--input-type=module-typescript', '-e', child], {
        stdio: ['pipe', 'pipe', 'ignore'],
      })
      const exited = once(testProcess, 'exit')
      const [line] = (await once(testProcess.stdout!, 'data')) as [Buffer]
      const { folder } = JSON.parse(line.toString()) as { folder: string }
      assert.ok(processesNaming(folder).length > 0, 'the launcher is found by its folder')
      const written = readFileSync(`${folder}/etc/rabbitmq.conf`, 'utf8')
      assert.match(written, /listeners\.tcp\.2/)
      if (end === 'kill -9') testProcess.kill('SIGKILL')
      else testProcess.stdin!.write('end')
      await exited
      await until('nothing runs', () => processesNaming(folder).length === 0)
      if (end === 'an uncaught error') assert.equal(existsSync(folder), false)
    })
  }
})
