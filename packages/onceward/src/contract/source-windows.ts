import type { SourceWindow } from './needed-retention.ts'

/** Pure: how long a source may redeliver a message, from its broker's settings. */

export function topicWindow(topic: string, keepsMs: number): SourceWindow {
  return { ms: keepsMs, by: `retention.ms and segment.ms of topic ${topic}` }
}

export function queueWindow(queue: string, messageTtl: unknown): SourceWindow {
  if (typeof messageTtl === 'number') return { ms: messageTtl, by: `the message TTL of queue ${queue}` }
  return {
    unknown: `queue ${queue} has no message TTL: a message that was applied but not acknowledged may stay in it without limit`,
  }
}

/**
 * A queue in the store's database needs no term: retention keeps the markers of every message that is in the
 * queue, and of everything since. A queue in another database is out of its sight.
 */
export function ownQueueWindow({ queue, url }: { queue: string; url?: string | undefined }): SourceWindow {
  if (url === undefined) return { ms: 0, by: `queue ${queue}, whose messages keep their markers` }
  return {
    unknown: `queue ${queue} is in another database, and keeps a message until it is settled, however long that takes`,
  }
}

export function streamWindow(stream: string, maxAge: unknown): SourceWindow {
  if (maxAge === undefined)
    return { ms: Number.POSITIVE_INFINITY, by: `stream ${stream}, which has no max-age` }
  const ms = maxAgeMs(String(maxAge))
  if (ms === null)
    return { unknown: `the max-age of stream ${stream} is unreadable: ${String(maxAge).slice(0, 40)}` }
  return { ms, by: `the max-age of stream ${stream}` }
}

const unitSeconds: Record<string, number> = { Y: 31_536_000, M: 2_592_000, D: 86_400, h: 3_600, m: 60, s: 1 }

/** In the broker's notation: `7D`, `12h`. */
export function maxAgeMs(text: string): number | null {
  const parts = /^(\d+)([YMDhms])$/.exec(text)
  return parts === null ? null : Number(parts[1]) * unitSeconds[parts[2]!]! * 1_000
}
