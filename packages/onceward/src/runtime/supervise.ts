import { type ChildProcess, fork } from 'node:child_process'
import type { Log } from '../environment.ts'

export interface SuperviseOptions {
  /** The program and its arguments. */
  readonly program: string
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** How long the child may say nothing: its event loop stands still, so nothing inside it could end it. */
  readonly deadlineMs: number
  readonly memoryMaxMb: number | null
  readonly log: Log
}

/** Set in the child, so that it runs instead of supervising. */
export const supervised = 'ONCEWARD_SUPERVISED'

const startMs = 60_000
const restartMinMs = 100
const restartMaxMs = 5_000
/** A child that lived this long did not die of its start. */
const settledMs = 60_000

/**
 * Runs a program in a child and starts it again whenever it dies: out of memory, `process.exit`, a native
 * crash, or an endless loop, which is killed past the deadline. A child that says it has ended is believed,
 * and its exit code is the answer. Signals are passed on.
 *
 *   running ──said that it ends──▶ done          running ──died, silent──▶ waiting ──▶ running
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
      log.error('the consumer process died and is started again', { how: end.how, delayMs })
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
  /** It told that it is about to end by itself. */
  readonly said: boolean
  readonly code: number | null
  readonly how: string
}

/** In a process group of its own: a Ctrl-C reaches us alone and is passed on once. */
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
        log.error('the consumer process says nothing and is killed', { silentMs: withinMs })
        child.kill('SIGKILL')
      }, withinMs)
    }
    expect(Math.max(startMs, deadlineMs))
    child.on('message', message => {
      if (message === 'ending') said = true
      expect(deadlineMs)
    })
    child.once('error', error =>
      log.error('the consumer process cannot be reached', { error: error.message }),
    )
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

/** The child's side: says that its event loop turns, and ends with the supervisor. */
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
