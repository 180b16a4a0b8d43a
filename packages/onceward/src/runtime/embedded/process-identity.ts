import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Pids are reused; pid and start time together identify one process. */
export type ProcessIdentity = { pid: number; started: string }

function ps(pid: number, column: string): string | undefined {
  try {
    const out = execFileSync('ps', ['-o', `${column}=`, '-p', String(pid)], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return out.toString().trim() || undefined
  } catch {
    return undefined
  }
}

function linuxStat(pid: number): { state: string; parent: number; started: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0] ?? '', parent: Number(fields[1]), started: fields[19] ?? '' }
  } catch {
    return undefined
  }
}

// Windows reports start times only through slow tools; there the callers' own checks must suffice.
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** The identity of a living process, or undefined; a zombie counts as dead. */
export function identify(pid: number): ProcessIdentity | undefined {
  if (!Number.isInteger(pid) || pid <= 1) return undefined
  if (process.platform === 'linux') {
    const stat = linuxStat(pid)
    return stat && stat.state !== 'Z' ? { pid, started: stat.started } : undefined
  }
  if (process.platform === 'win32') return isAlive(pid) ? { pid, started: '' } : undefined
  const started = ps(pid, 'lstart')
  return started === undefined ? undefined : { pid, started }
}

export function isSameProcess(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.started === identity.started
}

/** Its parent, or the process that adopted it; undefined when it is gone. */
export function parentOf(pid: number): number | undefined {
  if (process.platform === 'linux') return linuxStat(pid)?.parent
  if (process.platform === 'win32') return undefined
  const found = Number(ps(pid, 'ppid'))
  return Number.isInteger(found) ? found : undefined
}

/** The command line of a process, its arguments joined by spaces; empty when it is gone. */
export function commandOf(pid: number): string {
  if (process.platform !== 'linux') return ps(pid, 'command') ?? ''
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
  } catch {
    return ''
  }
}

/** Sends the signal only to the process that was identified; false when that process is gone. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isSameProcess(identity)) return false
  try {
    return process.kill(identity.pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

/** Resolves true when the process is gone, false when it still lives after the deadline. */
export async function waitForExit(identity: ProcessIdentity, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs
  while (isSameProcess(identity)) {
    if (Date.now() > deadline) return false
    await sleep(20)
  }
  return true
}
