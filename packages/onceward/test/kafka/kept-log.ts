import type { TestContext } from 'node:test'
import type { Log } from '../../src/environment.ts'

/** A log that is printed when the test fails, with milliseconds since the call. */
export function keptLog(t: TestContext): Log {
  const beganMs = performance.now()
  const lines: string[] = []
  const write = (level: string) => (message: string, fields?: object) => {
    const atMs = Math.round(performance.now() - beganMs)
    lines.push(`${atMs} ${level} ${message} ${JSON.stringify(fields ?? {})}`)
  }
  t.after(() => {
    // Missing in the types.
    const { passed } = t as TestContext & { readonly passed: boolean }
    if (!passed) console.error(lines.join('\n'))
  })
  return { debug() {}, info: write('info'), warn: write('warn'), error: write('error') }
}
