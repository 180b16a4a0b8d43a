import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Totals } from './totals.ts'

const main = fileURLToPath(new URL('./main.ts', import.meta.url))

/** The command in a process of its own, as a user runs it. */
export function runChaos(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [...process.execArgv, main, ...args, '--json'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  let printed = ''
  child.stderr.on('data', chunk => {
    said += chunk
  })
  child.stdout.on('data', chunk => {
    printed += chunk
  })
  const ended = new Promise<number | null>(resolve => child.once('close', code => resolve(code)))
  return {
    said: () => said,
    stop: (signal: NodeJS.Signals) => child.kill(signal),
    ended,
    /** The last line. */
    async totals(): Promise<Totals> {
      await ended
      return JSON.parse(printed.trim().split('\n').at(-1) || 'null') as Totals
    },
  }
}
