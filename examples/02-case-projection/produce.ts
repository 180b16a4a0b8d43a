import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createKafkaPublisher, ensureTopic } from 'onceward/kafka'
import type { CaseEvent } from './messages.ts'
import { readSettings } from './settings.ts'

const steps = [
  ['CaseOpened', 'open'],
  ['CaseAssigned', 'assigned'],
  ['CaseEscalated', 'escalated'],
  ['CaseClosed', 'closed'],
] as const

/** Step `version` (1 to 4) of a case. */
export function caseEvent(caseId: string, version: number, changes: Partial<CaseEvent> = {}): CaseEvent {
  const [eventType, newState] = steps[version - 1]!
  const occurredAt = new Date(Date.UTC(2026, 0, 1, 8, version)).toISOString()
  const event = {
    eventId: `${caseId}-v${version}`,
    caseId,
    caseVersion: version,
    eventType,
    newState,
    occurredAt,
  }
  return { ...event, ...changes }
}

/**
 * Resolves when the broker has confirmed every event. The record's key is the case's id, so its events stay
 * in order.
 */
export async function send(
  bootstrap: string,
  topic: string,
  events: readonly Record<string, unknown>[],
): Promise<void> {
  const publisher = createKafkaPublisher({ bootstrap })
  try {
    const results = await publisher.publish(
      events.map(event => ({
        queue: topic,
        messageId: String(event.eventId),
        key: String(event.caseId),
        headers: { 'trace-id': `trace-${event.eventId}` },
        body: Buffer.from(JSON.stringify(event)),
      })),
    )
    for (const result of results) if (result !== 'confirmed') throw result
  } finally {
    await publisher.close()
  }
}

/**
 * Sends complete case histories: every third event twice, some older ones late, one that skips a version, and
 * one malformed.
 */
export function sample(count: number): Record<string, unknown>[] {
  const lives = Array.from({ length: count }, (_, n) =>
    [1, 2, 3, 4].map(v => caseEvent(`case-${n}`, v)),
  ).flat()
  const again = lives.filter((_, n) => n % 3 === 0)
  const gap = [caseEvent('case-gap', 1), caseEvent('case-gap', 3)]
  const late = caseEvent('case-gap', 2)
  const broken = { ...caseEvent('case-broken', 1), caseVersion: 'first' }
  return [...lives, ...again, ...gap, late, broken]
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { cases: { type: 'string', default: '10' } } })
  const { topic, deadLetters } = readSettings()
  const bootstrap = process.env.ONCEWARD_KAFKA_BOOTSTRAP!
  await ensureTopic({ bootstrap }, topic, { partitions: 3 })
  await ensureTopic({ bootstrap }, deadLetters, { partitions: 1 })
  const events = sample(Number(values.cases))
  await send(bootstrap, topic, events)
  console.log(`${events.length} events confirmed by ${topic}`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
