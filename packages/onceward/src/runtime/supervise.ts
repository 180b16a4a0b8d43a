import { type ChildProcess, fork } from 'node:child_process'
import type { Log } from '../environment.ts'

export interface SuperviseOptions {
  /** The program and its arguments. */
  readonly program: string
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** How long the child may be silent. A blocked event loop cannot end itself. */
  readonly deadlineMs: number
  readonly memoryMaxMb: number | null
  readonly log: Log
}

/** Set in the child, so that it runs instead of supervising. */
export const supervised = 'ONCEWARD_SUPERVISED'

const startMs = 60_000
const restartMinMs = 100
const restartMaxMs = 5_000
/** A child that ran this long did not crash at start. */
const settledMs = 60_000

/**
 * Runs a program in a child process and restarts it after a crash: out of memory, `process.exit`, a native
 * crash, or an endless loop, which is killed after the deadline. When the child announces its end, its exit
 * code is returned. Signals are forwarded.
 *
 *   running ──announced its end──▶ done          running ──crashed, silent──▶ waiting ──▶ running
 */
export async function supervise(options: SuperviseOptions): Promise<number> {
  const { log } = options
  let child: ChildProcess | null = null
  let stopping = false
  const pass = () => {
    stopping = true
    child?.kill('SIGTERM')
    wake()
  }
  let wake = () => {}
  process.on('SIGTERM', pass)
  process.on('SIGINT', pass)
  try {
    for (let deaths = 0; ; deaths++) {
      const began = performance.now()
      child = start(options)
      const end = await watch(child, options)
      child = null
      if (end.said || stopping) return end.code ?? 1
      if (performance.now() - began > settledMs) deaths = 0
      const delayMs = Math.min(restartMaxMs, restartMinMs * 2 ** Math.min(deaths, 10))
      log.error('consumer process crashed, restarting', { how: end.how, delayMs })
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, delayMs)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      if (stopping) return 1
    }
  } finally {
    process.off('SIGTERM', pass)
    process.off('SIGINT', pass)
  }
}

interface End {
  /** The child announced its end. */
  readonly said: boolean
  readonly code: number | null
  readonly how: string
}

/** In its own process group: Ctrl-C reaches only the supervisor and is forwarded once. */
function start({ program, args, environment, memoryMaxMb }: SuperviseOptions): ChildProcess {
  const limit = memoryMaxMb === null ? [] : [`--max-old-space-size=${memoryMaxMb}`]
  return fork(program, args, {
    execArgv: [...process.execArgv, ...limit],
    env: { ...process.env, ...environment, [supervised]: '1' },
    detached: true,
    stdio: 'inherit',
  })
}

function watch(child: ChildProcess, { deadlineMs, log }: SuperviseOptions): Promise<End> {
  return new Promise(resolve => {
    let said = false
    let silent = false
    let timer: NodeJS.Timeout | undefined
    const expect = (withinMs: number) => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        silent = true
        log.error('consumer process is silent, killing it', { silentMs: withinMs })
        child.kill('SIGKILL')
      }, withinMs)
    }
    expect(Math.max(startMs, deadlineMs))
    child.on('message', message => {
      if (message === 'ending') said = true
      expect(deadlineMs)
    })
    child.once('error', error => log.error('consumer process cannot be reached', { error: error.message }))
    child.once('exit', (code, signal) => {
      clearTimeout(timer)
      const how = silent
        ? `silent for ${deadlineMs} ms`
        : signal !== null
          ? `by ${signal}`
          : `with code ${code}`
      resolve({ said: said && signal === null, code, how })
    })
  })
}

/** The child's side: reports that its event loop runs, and exits with the supervisor. */
export function answerSupervisor(deadlineMs: number, onOrphaned: () => void): { ending(): void } {
  const beat = () => void process.send?.('alive')
  const timer = setInterval(beat, deadlineMs / 4)
  beat()
  process.once('disconnect', onOrphaned)
  return {
    ending() {
      clearInterval(timer)
      process.off('disconnect', onOrphaned)
      process.send?.('ending', () => process.disconnect?.())
    },
  }
}
