/** The first signal drains, the second leaves at once. */
export function onSignals(
  drainMs: number,
  running: { drain(ms: number): Promise<void>; leave(): void },
): void {
  let signals = 0
  const onSignal = () => {
    signals++
    if (signals === 1) running.drain(drainMs).catch(() => {})
    else running.leave()
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}
