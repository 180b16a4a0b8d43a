import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'

/** Names the test that stands for the file's own loading. It is reported only when it fails. */
export const loadingName = '(the file loads)'

/** Errors do not survive JSON: what a reader needs of one is its text. */
function flatten(event: { type: string; data: Record<string, unknown> }) {
  const details = event.data.details as { error?: { cause?: unknown; failureType?: string } } | undefined
  if (!details?.error) return event
  const cause = inspect(details.error.cause ?? details.error, { depth: 8 })
  const error = { failureType: details.error.failureType, cause }
  return { type: event.type, data: { ...event.data, details: { ...details, error } } }
}

const kept = ['test:start', 'test:pass', 'test:fail']
/** Counts of the whole run, which the runner has itself. */
const ofRun = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/

/** One line of JSON per event. */
export default async function* eventLines(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) {
    if (event.type === 'test:diagnostic' && !ofRun.test(event.data.message))
      yield `${JSON.stringify({ type: event.type, data: { message: event.data.message } })}\n`
    if (!kept.includes(event.type)) continue
    if ((event.data as { name: string }).name === loadingName && event.type !== 'test:fail') continue
    yield `${JSON.stringify(flatten(event as never))}\n`
  }
}
