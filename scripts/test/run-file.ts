import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EventData } from 'node:test'
import { fileURLToPath } from 'node:url'
import { loadingName } from './event-lines.ts'
import type { Outcome } from './outcome.ts'

const reporter = fileURLToPath(new URL('./event-lines.ts', import.meta.url))
const entry = fileURLToPath(new URL('./load-file.ts', import.meta.url))
const outputMax = 200_000

type Line =
  | { type: 'test:start'; data: EventData.TestStart }
  | { type: 'test:pass'; data: EventData.TestPass }
  | { type: 'test:fail'; data: EventData.TestFail }
  | { type: 'test:diagnostic'; data: { message: string } }

export type RunOptions = {
  root: string
  timeoutMs: number
  env: NodeJS.ProcessEnv
  /** Only tests with one of these titles. */
  titles?: readonly string[]
}

/** The last line of a process that was killed may be half a line. */
function receive(outcome: Outcome, file: string, text: string): void {
  for (const line of text.split('\n').slice(0, -1)) {
    const { type, data } = JSON.parse(line) as Line
    if (type === 'test:start') outcome.started(data, file)
    else if (type === 'test:diagnostic') outcome.noted(data.message, file)
    else outcome.finished(data, file)
  }
}

const running = new Set<ChildProcess>()

/** The whole process group, so that nothing a test started stays behind. */
function killGroup(child: ChildProcess): void {
  try {
    process.kill(process.platform === 'win32' ? child.pid! : -child.pid!, 'SIGKILL')
  } catch {
    // The group is empty already.
  }
}

/** For Ctrl-C: the files run in groups of their own, which the terminal's signal does not reach. */
export function killRunningFiles(): void {
  for (const child of running) killGroup(child)
}

/**
 * Events go to a file: Node waits for that when it ends by force, and not for a pipe, whose last lines are
 * then lost.
 */
function spawnFile(file: string, events: string, { root, env, titles = [] }: RunOptions) {
  const flags = ['--conditions=@onceward/source', '--disable-warning=ExperimentalWarning']
  // A client's socket that outlives its test keeps no file from ending: that processes end by themselves is
  // tested with real ones.
  const report = [`--test-reporter=${reporter}`, `--test-reporter-destination=${events}`, '--test-force-exit']
  const only = titles.length === 0 ? [] : [loadingName, ...titles].map(namePattern)
  return spawn(process.execPath, [...flags, ...report, ...only, entry, file], {
    cwd: root,
    env,
    detached: process.platform !== 'win32',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** Gone with the runner, also when that is interrupted. */
let folder: string | undefined
let files = 0

function newEventsFile(): string {
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'onceward-test-'))
    process.once('exit', () => rmSync(made, { recursive: true, force: true }))
    folder = made
  }
  const path = join(folder, String(++files))
  writeFileSync(path, '')
  return path
}

function namePattern(title: string): string {
  return `--test-name-pattern=${title.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$`
}

function untilClosed(child: ChildProcess): Promise<string | undefined> {
  let ending: string | undefined
  return new Promise(resolve => {
    child.on('exit', (code, signal) => {
      ending = code === 0 ? undefined : (signal ?? `code ${code}`)
      // Children that outlive their test would hold the pipes open for ever.
      killGroup(child)
    })
    child.on('close', () => resolve(ending))
  })
}

/**
 * One process per file, in a process group of its own: a file that hangs is killed with all its children
 * and reported by name. (node:test's own runner kills only the file's process and waits for its children.)
 */
export async function runFile(outcome: Outcome, file: string, options: RunOptions): Promise<void> {
  const started = Date.now()
  const events = newEventsFile()
  const child = spawnFile(file, events, options)
  running.add(child)
  let output = ''
  const keep = (text: string) => {
    output = (output + text).slice(-outputMax)
  }
  child.stdout.on('data', chunk => keep(String(chunk)))
  child.stderr.on('data', chunk => keep(String(chunk)))
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    killGroup(child)
  }, options.timeoutMs)
  const ending = await untilClosed(child)
  clearTimeout(timer)
  running.delete(child)
  receive(outcome, file, readFileSync(events, 'utf8'))
  outcome.fileFinished(file, Date.now() - started)
  if (timedOut)
    outcome.fileFailed(file, `killed after ${options.timeoutMs / 1000} s without finishing\n${output}`)
  else if (ending && !outcome.files.get(file)?.failed) {
    outcome.fileFailed(file, `the process ended with ${ending}\n${output}`)
  }
}
