import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { until } from 'onceward/testing'
import { createDatabase } from '../services/services.ts'
import { run } from './pack.ts'

/** Starts the installed console as its README says; signs in by the printed link, and loads its page. */
export async function serveInstalled(folder: string): Promise<void> {
  await using cleanup = new AsyncDisposableStack()
  const database = await createDatabase()
  cleanup.defer(() => database.drop())
  const env = { ...process.env, ONCEWARD_DATABASE_URL: database.url, NODE_OPTIONS: '' }
  await run(join(folder, 'node_modules', '.bin', 'onceward'), ['migrate'], { cwd: folder, env })
  const options = ['--port', String(await freePort()), '--person', 'ann']
  const npx = spawn('npx', ['--no-install', '@onceward/console', ...options], {
    cwd: folder,
    env,
    detached: true,
  })
  // The group: npx starts a shell, which starts the console.
  cleanup.defer(() => void process.kill(-npx.pid!, 'SIGKILL'))
  let printed = ''
  for (const stream of [npx.stdout, npx.stderr])
    stream.on('data', part => {
      printed += part
    })
  await until('the link is printed', async () => /#link=\S+\n/.test(printed) || npx.exitCode !== null)
  const [, origin, token] = /(http:\/\/127\.0\.0\.1:\d+)\/#link=(\S+)/.exec(printed) ?? []
  assert.ok(origin !== undefined, printed)

  const page = await fetch(`${origin}/`)
  assert.equal(page.status, 200)
  const assets = [...(await page.text()).matchAll(/(?:src|href)="(?:\.?\/)?(assets\/[^"]+)"/g)]
  assert.ok(assets.length >= 2, 'a script and a style')
  for (const [, asset] of assets) assert.equal((await fetch(`${origin}/${asset}`)).status, 200, asset)

  assert.equal((await fetch(`${origin}/api/overview`)).status, 401)
  const signedIn = await fetch(`${origin}/api/sign-in`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  })
  assert.equal(signedIn.status, 200)
  const cookie = signedIn.headers.getSetCookie()[0]!.split(';')[0]!
  const overview = await fetch(`${origin}/api/overview`, { headers: { cookie } })
  assert.deepEqual(
    [overview.status, ((await overview.json()) as { consumers: unknown }).consumers],
    [200, []],
  )
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}
