/** How long and how often `until` looks. */
export interface UntilOptions {
  /** Generous: only a failure waits for it. Default 60 s. */
  readonly deadlineMs?: number
}

/** Polls until the condition holds. Past the deadline it fails and names the condition. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  { deadlineMs = 60_000 }: UntilOptions = {},
): Promise<void> {
  const end = performance.now() + deadlineMs
  for (let pauseMs = 1; !(await condition()); pauseMs = Math.min(50, pauseMs * 2)) {
    if (performance.now() > end) throw new Error(`never came true within ${deadlineMs} ms: ${what}`)
    await new Promise(resolve => setTimeout(resolve, pauseMs))
  }
}
