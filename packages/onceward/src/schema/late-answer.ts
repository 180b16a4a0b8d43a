import { OncewardError } from '../errors.ts'

/** Rejects when the signal aborts: also for a source that ignores it, and a token that does not come. */
export function endOf(signal: AbortSignal, registry: string, timeoutMs: number): Promise<never> {
  const text = `registry ${registry} cannot be asked: no answer in ${timeoutMs} ms`
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(new OncewardError('registry_unavailable', text))),
  )
}
