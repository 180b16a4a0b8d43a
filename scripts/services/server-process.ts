import { spawn } from 'node:child_process'
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  commandOf,
  identify,
  isSameProcess,
  type ProcessIdentity,
  signalProcess,
  waitForExit,
} from '../../packages/onceward/src/runtime/embedded/process-identity.ts'
import { runFolder } from './cache-folders.ts'

/** `marker` is text that the command line of this server has and a stranger's has not. */
export type ServerRecord = ProcessIdentity & { marker: string }

const recordFile = (name: string) => join(runFolder(name), 'server.pid.json')
export const logFile = (name: string) => join(runFolder(name), 'server.log')

export function recordServer(name: string, pid: number, marker: string): ServerRecord {
  const identity = identify(pid)
  if (!identity) throw new Error(`${name}: process ${pid} is gone already; its log is ${logFile(name)}`)
  const record = { ...identity, marker }
  writeFileSync(`${recordFile(name)}.new`, JSON.stringify(record))
  renameSync(`${recordFile(name)}.new`, recordFile(name))
  return record
}

/**
 * The recorded server if that very process still lives, else undefined. Nothing else may ever be signalled.
 */
export function recordedServer(name: string): ServerRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(recordFile(name), 'utf8')) as ServerRecord
    return isSameProcess(record) && commandOf(record.pid).includes(record.marker) ? record : undefined
  } catch {
    return undefined
  }
}

/** Starts a server that outlives this script, its output appended to the service's log. */
export function launchDetached(
  name: string,
  command: string,
  args: string[],
  options: { env?: NodeJS.ProcessEnv; uid?: number; gid?: number } = {},
) {
  const log = openSync(logFile(name), 'a')
  try {
    const child = spawn(command, args, { ...options, cwd: '/', detached: true, stdio: ['ignore', log, log] })
    child.on('error', () => {})
    child.unref()
    if (child.pid === undefined) throw new Error(`${name}: ${command} could not be started`)
    return child.pid
  } finally {
    closeSync(log)
  }
}

export async function killServer(server: ProcessIdentity | undefined): Promise<void> {
  if (!server) return
  signalProcess(server, 'SIGKILL')
  if (!(await waitForExit(server, 10_000))) throw new Error(`process ${server.pid} survived SIGKILL for 10 s`)
}

export async function stopServer(
  name: string,
  server: ProcessIdentity | undefined,
  graceMs: number,
): Promise<void> {
  if (server) {
    signalProcess(server, 'SIGTERM')
    if (!(await waitForExit(server, graceMs))) await killServer(server)
  }
  rmSync(recordFile(name), { force: true })
}

/** Every process whose environment carries this exact assignment (Linux). Catches helpers such as epmd. */
export function processesWithEnvironment(assignment: string): ProcessIdentity[] {
  const pids = readdirSync('/proc').filter(entry => /^\d+$/.test(entry))
  return pids.flatMap(pid => {
    try {
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
      return environment.includes(assignment) ? (identify(Number(pid)) ?? []) : []
    } catch {
      return []
    }
  })
}

export function logTail(name: string, lines = 6): string {
  try {
    const size = statSync(logFile(name)).size
    return readFileSync(logFile(name))
      .subarray(Math.max(0, size - 4000))
      .toString()
      .trim()
      .split('\n')
      .slice(-lines)
      .join('\n')
  } catch {
    return '(no log)'
  }
}

/** Polls until ready; stops early, with the log's end, when the server died. */
export async function untilReady(
  name: string,
  isReady: () => Promise<boolean>,
  isAlive: () => boolean,
  timeoutMs = 60_000,
) {
  const deadline = Date.now() + timeoutMs
  while (!(await isReady())) {
    const dead = !isAlive()
    if (dead || Date.now() > deadline) {
      const what = dead ? 'exited while starting' : `did not answer within ${timeoutMs / 1000} s`
      throw new Error(`the server ${what}. The end of ${logFile(name)}:\n${logTail(name)}`)
    }
    await sleep(100)
  }
}
