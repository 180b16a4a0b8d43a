interface Stoppable {
  drain(ms: number): Promise<void>
  leave(): void
}

/** How long an aborted start may take to close its connections. */
const giveUpMs = 10_000

const exitCodes = { SIGTERM: 143, SIGINT: 130 } as const

let interrupted: number | null = null

/** The exit code of a process that was stopped before it had started; null for any other. */
export function interruptedStart(): number | null {
  return interrupted
}

/**
 * Handles SIGTERM and SIGINT from now on:
 *
 *   starting: the first aborts the start, the second exits
 *   running:  the first drains, the second leaves at once
 */
export function onSignals(): {
  readonly starting: AbortSignal
  running(parts: Stoppable, drainMs: number): void
} {
  const starting = new AbortController()
  let signals = 0
  let stop = (signal: keyof typeof exitCodes) => {
    const code = exitCodes[signal]
    if (signals > 1) process.exit(code)
    interrupted = code
    starting.abort()
    setTimeout(() => process.exit(code), giveUpMs).unref()
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      signals++
      stop(signal)
    })
  return {
    starting: starting.signal,
    running(parts, drainMs) {
      stop = () => {
        if (signals === 1) parts.drain(drainMs).catch(() => {})
        else parts.leave()
      }
    },
  }
}
