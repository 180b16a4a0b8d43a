import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Sends bytes, resolves with the first bytes of the answer, or undefined when there is none in time. */
export function exchange(
  port: number,
  request: Buffer,
  timeoutMs = 2000,
  host = '127.0.0.1',
): Promise<Buffer | undefined> {
  return new Promise(resolve => {
    const socket = connect({ port, host })
    const finish = (answer: Buffer | undefined) => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(timeoutMs, () => finish(undefined))
    socket.on('error', () => finish(undefined))
    socket.on('close', () => finish(undefined))
    socket.on('connect', () => socket.write(request))
    socket.on('data', finish)
  })
}

export function isListening(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ port, host })
    socket.setTimeout(1000, () => socket.destroy())
    socket.on('connect', () => socket.destroy() && resolve(true))
    socket.on('close', () => resolve(false))
    socket.on('error', () => {})
  })
}

/** A server that was just killed may hold its ports a moment longer than its pid. */
const releaseMs = 5000

async function becomesFree(port: number): Promise<boolean> {
  const deadline = Date.now() + releaseMs
  while (await isListening(port)) {
    if (Date.now() > deadline) return false
    await sleep(50)
  }
  return true
}

export async function assertPortsFree(name: string, wanted: number[]): Promise<void> {
  for (const port of wanted) {
    if (await becomesFree(port)) continue
    throw new Error(
      `port ${port} on 127.0.0.1 is taken by another program. Nothing was started. ` +
        `Stop that program, or point ${name} at a server of yours through the environment.`,
    )
  }
}
