import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unprivilegedUser } from '../../packages/onceward/src/runtime/embedded/unprivileged-user.ts'
import { until } from '../../packages/onceward/src/testing/until.ts'
import { freePorts } from '../../packages/onceward/test/services/free-ports.ts'
import { isListening } from '../../scripts/services/network.ts'
import { needProgram } from '../../scripts/services/run-command.ts'

/** A PgBouncer of this run in transaction mode. */
export async function startPooler(postgresUrl: string, logFolder: string) {
  const program = await needProgram('pgbouncer', ['pgbouncer'], line => console.error(line))
  const [port] = (await freePorts(1)) as [number]
  const user = unprivilegedUser()
  const folder = mkdtempSync(join(tmpdir(), 'onceward-pooler-'))
  chmodSync(folder, 0o755)
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(file, configuration(postgresUrl, port), { mode: 0o600 })
  if (user) chownSync(file, user.uid, user.gid)
  const logFile = join(logFolder, 'pgbouncer.log')
  let running: ChildProcess
  const start = async () => {
    const log = openSync(logFile, 'a')
    running = spawn(program, [file], { ...user, cwd: '/', stdio: ['ignore', log, log] })
    await until('PgBouncer listens', () => isListening(port))
  }
  const end = async () => {
    if (running.exitCode !== null || running.signalCode !== null) return
    const gone = once(running, 'exit')
    running.kill('SIGKILL')
    await gone
  }
  const onExit = () => running.kill('SIGKILL')
  process.on('exit', onExit)
  await start()
  return {
    port,
    logFile,
    async kill() {
      await end()
      await start()
    },
    async close() {
      process.off('exit', onExit)
      await end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function configuration(postgresUrl: string, port: number): string {
  const { hostname, port: behind, username, password } = new URL(postgresUrl)
  const login = `user=${decodeURIComponent(username)}${password ? ` password=${decodeURIComponent(password)}` : ''}`
  return `[databases]
* = host=${hostname} port=${behind} ${login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 500
default_pool_size = 30
server_login_retry = 1
ignore_startup_parameters = extra_float_digits
`
}
