import { commandOf, identify, isSameProcess, parentOf } from './embedded/process-identity.ts'

const lookEveryMs = 500
const shell = /^(\S*\/)?((ba|da|a|z|k)?sh|busybox)( |$)/

/**
 * `npx` and `npm run` start a shell, and the shell starts this process. npm forwards SIGTERM only to the
 * shell, which exits without forwarding it, and SIGKILL reaches neither: the process would continue as an
 * orphan. So it polls its parents, and stops as by SIGTERM when they are gone.
 */
export function endWithNpm(): void {
  const { npm_execpath, npm_command, npm_lifecycle_event } = process.env
  if ((npm_execpath ?? npm_command ?? npm_lifecycle_event) === undefined) return
  const parent = identify(process.ppid)
  if (parent === undefined) return
  const above = shell.test(commandOf(parent.pid)) ? identify(parentOf(parent.pid) ?? 0) : undefined
  const timer = setInterval(() => {
    if (process.ppid === parent.pid && (above === undefined || lives(above))) return
    clearInterval(timer)
    if (!process.emit('SIGTERM', 'SIGTERM')) process.exit(143)
  }, lookEveryMs).unref()
}

/** Outside Linux, identifying a process spawns a program, which is too expensive twice a second. */
function lives(one: NonNullable<ReturnType<typeof identify>>): boolean {
  if (process.platform === 'linux') return isSameProcess(one)
  try {
    return process.kill(one.pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
