import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Log } from './service.ts'

type Result = { code: number | null; output: string }

/** Runs to the end with its output kept; never rejects, an unknown program is code 127. */
export function runCommand(
  command: string,
  args: string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; timeoutMs?: number } = {},
): Promise<Result> {
  const { timeoutMs, ...rest } = options
  const child = spawn(command, args, {
    ...rest,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs, killSignal: 'SIGKILL' as const }),
  })
  let output = ''
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-20_000)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  return new Promise(resolve => {
    child.on('error', error => resolve({ code: 127, output: error.message }))
    child.on('close', code => resolve({ code, output: output.trim() }))
  })
}

/** Like `runCommand`, but a failure is an error that ends with what the program said. */
export async function mustRun(
  command: string,
  args: string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
) {
  const { code, output } = await runCommand(command, args, options)
  if (code === 0) return output
  const tail = output.split('\n').slice(-6).join('\n')
  throw new Error(`${command} ${args[0] ?? ''} failed (exit code ${code}): ${tail}`)
}

const systemFolders = ['/usr/sbin', '/usr/bin', '/sbin', '/bin']

export function findProgram(name: string): string | undefined {
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), ...systemFolders]) {
    try {
      accessSync(join(folder, name), constants.X_OK)
      return join(folder, name)
    } catch {}
  }
  return undefined
}

/** Installs Debian packages when the program is absent; says what to do by hand when it may not. */
export async function needProgram(program: string, packages: string[], log: Log): Promise<string> {
  const found = findProgram(program)
  if (found) return found
  if (process.getuid?.() !== 0 || !findProgram('apt-get')) {
    throw new Error(`${program} is not installed (Debian: apt-get install ${packages.join(' ')})`)
  }
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  await timed(log, `installing ${packages.join(', ')} from the system's packages, once`, async () => {
    await mustRun('apt-get', ['update', '-q'], { env })
    await mustRun('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...packages], { env })
  })
  return findProgram(program) ?? program
}

/** Announces a long step, counts its seconds on a terminal, and says how long it took. */
export async function timed<T>(log: Log, what: string, work: () => Promise<T>): Promise<T> {
  const started = Date.now()
  const seconds = () => Math.round((Date.now() - started) / 1000)
  log(`${what} …`)
  const tick = setInterval(() => process.stderr.isTTY && process.stderr.write(`  ${seconds()} s\r`), 1000)
  try {
    const result = await work()
    log(`${what}: done in ${seconds()} s`)
    return result
  } finally {
    clearInterval(tick)
  }
}
