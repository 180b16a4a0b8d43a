import type { TestContext } from 'node:test'
import type { TestKafka } from './fixture.ts'

/** One record after the other, each confirmed, to three partitions in turn. What the broker has, in order. */
export function feed(
  t: TestContext,
  kafka: TestKafka,
  topic: string,
): { sent: string[]; stop(): Promise<void> } {
  const sent: string[] = []
  let isOver = false
  const running = (async () => {
    while (!isOver) {
      const value = String(sent.length)
      await kafka.produce(topic, [{ value, partition: sent.length % 3 }])
      sent.push(value)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  })()
  running.catch(() => {})
  const stop = async () => {
    isOver = true
    await running
  }
  t.after(() => stop().catch(() => {}))
  return { sent, stop }
}

/** The longest time in which a count did not change, while it is watched. */
export function longestSilence(count: () => number): () => number {
  let [seen, sinceMs, longestMs] = [count(), performance.now(), 0]
  const timer = setInterval(() => {
    const now = count()
    longestMs = Math.max(longestMs, performance.now() - sinceMs)
    if (now !== seen) [seen, sinceMs] = [now, performance.now()]
  }, 20)
  return () => {
    clearInterval(timer)
    return Math.round(longestMs)
  }
}
