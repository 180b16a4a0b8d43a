import { setTimeout as pause } from 'node:timers/promises'
import { connect } from 'amqplib'
import type { ClusterNode } from '../services/rabbitmq-cluster.ts'

export interface QueueWriter {
  /** Ids that the broker has confirmed: each must be applied, once. */
  readonly confirmed: ReadonlySet<string>
  stop(): Promise<void>
}

const batch = 20
/** A queue without a leader confirms nothing, and a frozen node answers nothing: the next node is tried. */
const attemptMs = 5_000

/**
 * Writes to the queue by any node that answers until it is stopped. What was not confirmed is not sent again:
 * it may be there or not.
 */
export function writeOn(nodes: readonly ClusterNode[], queue: string): QueueWriter {
  const confirmed = new Set<string>()
  let isOver = false
  let next = 0
  const session = async ({ url }: ClusterNode) => {
    const model = await connect(url, { timeout: attemptMs })
    model.on('error', () => {})
    try {
      const channel = await inTime(model.createConfirmChannel())
      channel.on('error', () => {})
      while (!isOver) {
        const ids = Array.from({ length: batch }, () => String(next++))
        for (const id of ids)
          channel.sendToQueue(queue, Buffer.from(JSON.stringify({ id })), { persistent: true })
        await inTime(channel.waitForConfirms())
        for (const id of ids) confirmed.add(id)
        await pause(20)
      }
    } finally {
      void model.close().catch(() => {})
    }
  }
  const running = (async () => {
    for (let turn = 0; !isOver; turn++) {
      await session(nodes[turn % nodes.length]!).catch(() => {})
      await pause(100)
    }
  })()
  return {
    confirmed,
    stop: () => {
      isOver = true
      return running
    },
  }
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  const over = new AbortController()
  const late = pause(attemptMs, undefined, { signal: over.signal }).then(() => {
    throw new Error('no answer in time')
  })
  return Promise.race([work, late]).finally(() => {
    over.abort()
    late.catch(() => {})
  })
}
