import { type ChildProcess, fork } from 'node:child_process'
import type { Log } from '../environment.ts'
import type { ChildAnswers, Question } from './child-process.ts'

export interface SuperviseOptions {
  /** The program and its arguments. */
  readonly program: string
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** How long the child may be silent, or null: no limit. A blocked event loop cannot end itself. */
  readonly deadlineMs: number | null
  readonly memoryMaxMb: number | null
  readonly log: Log
}

/** A child process that is restarted when it crashes. */
export interface SupervisedChild {
  /** Resolves with its exit code when it ended by itself, or after `stop`. */
  readonly ended: Promise<ChildEnd>
  /** Sends SIGTERM, and starts it no more. */
  stop(): void
  /** Null when the child does not answer in time: it is starting, blocked or gone. */
  ask<Kind extends keyof ChildAnswers>(question: Kind): Promise<ChildAnswers[Kind] | null>
}

export interface ChildEnd {
  readonly code: number
  /** What the child reported before it ended. */
  readonly report: unknown
}

const startMs = 60_000
const restartMinMs = 100
const restartMaxMs = 5_000
/** A child that ran this long did not crash at start. */
const settledMs = 60_000
const answerMs = 2_000

/**
 * Runs a program in a child process and restarts it after a crash: out of memory, `process.exit`, a native
 * crash, or an endless loop, which is killed after the deadline. When the child announces its end, its exit
 * code is returned.
 *
 *   running ──announced its end──▶ done          running ──crashed, silent──▶ waiting ──▶ running
 */
export function superviseChild(options: SuperviseOptions): SupervisedChild {
  let child: ChildProcess | null = null
  let stopping = false
  let wake = () => {}
  const keepRunning = async (): Promise<ChildEnd> => {
    for (let deaths = 0; ; deaths++) {
      const began = performance.now()
      child = start(options)
      const { announced, code, how, report } = await watch(child, options)
      child = null
      if (announced || stopping) return { code: code ?? 1, report }
      if (performance.now() - began > settledMs) deaths = 0
      const delayMs = Math.min(restartMaxMs, restartMinMs * 2 ** Math.min(deaths, 10))
      options.log.error('consumer process crashed, restarting', { how, delayMs })
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, delayMs)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      if (stopping) return { code: 1, report: null }
    }
  }
  return {
    ended: keepRunning(),
    stop() {
      stopping = true
      child?.kill('SIGTERM')
      wake()
    },
    ask: question => (child === null ? Promise.resolve(null) : ask(child, question)),
  }
}

interface End {
  /** The child announced its end. */
  readonly announced: boolean
  readonly code: number | null
  readonly how: string
  readonly report: unknown
}

/** In its own process group: Ctrl-C reaches only the supervisor and is forwarded once. */
function start({ program, args, environment, memoryMaxMb }: SuperviseOptions): ChildProcess {
  const limit = memoryMaxMb === null ? [] : [`--max-old-space-size=${memoryMaxMb}`]
  return fork(program, args, {
    execArgv: [...process.execArgv, ...limit],
    env: { ...process.env, ...environment },
    detached: true,
    stdio: 'inherit',
  })
}

function watch(child: ChildProcess, { deadlineMs, log }: SuperviseOptions): Promise<End> {
  return new Promise(resolve => {
    let announced: { readonly ending: unknown } | null = null
    let silent = false
    let timer: NodeJS.Timeout | undefined
    const expect = (withinMs: number) => {
      clearTimeout(timer)
      if (deadlineMs === null) return
      timer = setTimeout(() => {
        silent = true
        log.error('consumer process is silent, killing it', { silentMs: withinMs })
        child.kill('SIGKILL')
      }, withinMs)
    }
    expect(Math.max(startMs, deadlineMs ?? 0))
    child.on('message', (message: unknown) => {
      if (typeof message === 'object' && message !== null && 'ending' in message) announced = message
      expect(deadlineMs ?? 0)
    })
    child.once('error', error => log.error('consumer process cannot be reached', { error: error.message }))
    child.once('exit', (code, signal) => {
      clearTimeout(timer)
      const how = silent
        ? `silent for ${deadlineMs} ms`
        : signal !== null
          ? `by ${signal}`
          : `with code ${code}`
      resolve({
        announced: announced !== null && signal === null,
        code,
        how,
        report: announced?.ending ?? null,
      })
    })
  })
}

let questions = 0

function ask<Kind extends keyof ChildAnswers>(
  child: ChildProcess,
  kind: Kind,
): Promise<ChildAnswers[Kind] | null> {
  const question: Question = { question: kind, number: ++questions }
  return new Promise(resolve => {
    const onMessage = (message: unknown) => {
      const { number, answer } = message as { number?: number; answer?: ChildAnswers[Kind] | null }
      if (number === question.number) end(answer ?? null)
    }
    const end = (answer: ChildAnswers[Kind] | null) => {
      clearTimeout(timer)
      child.off('message', onMessage)
      resolve(answer)
    }
    const timer = setTimeout(() => end(null), answerMs)
    child.on('message', onMessage)
    child.send(question, error => {
      if (error) end(null)
    })
  })
}
