import { Offset } from 'rabbitmq-stream-js-client'
import { until } from '../../src/testing/until.ts'
import { connectClient } from './broker.ts'

/** What a client that is not ours reads from the stream, in its order, up to the record `last`. */
export async function readUpTo(last: string, stream: string, url: string): Promise<string[]> {
  const client = await connectClient(url)
  try {
    const ids: string[] = []
    let isOver = false
    await client.declareConsumer({ stream, offset: Offset.first() }, ({ content }) => {
      const id = content.toString()
      if (!isOver) ids.push(id)
      isOver ||= id === last
    })
    await until(`${last} is read from ${stream}`, () => isOver, { deadlineMs: 90_000 })
    return ids
  } finally {
    await client.close()
  }
}

/** Says where two orders part: of thousands of ids nobody can read the difference. */
export function firstDifference(actual: readonly string[], expected: readonly string[]): string | null {
  const at = expected.findIndex((id, index) => actual[index] !== id)
  if (at < 0) return actual.length === expected.length ? null : `${actual.length - expected.length} too many`
  const around = (ids: readonly string[]) => ids.slice(Math.max(0, at - 2), at + 3).join()
  return `record ${at} of ${expected.length}: ${around(actual)} instead of ${around(expected)}`
}
