import type { Log, LogFields, LogLevel } from '../../environment.ts'
import { factsOf } from '../../message/received.ts'
import type { Decided } from '../batch/batch-attempt.ts'
import type { Decision, Outcome } from '../batch/outcome.ts'

/** Outcomes that need an operator. */
const loud: ReadonlySet<Outcome> = new Set(['parked', 'dead-lettered', 'quarantined'])

/** Lines per batch and level; one more line counts the rest. */
const linesMax = 10

/**
 * Logs every message that was not simply applied or stored, with its outcome and identities. Message content
 * is never logged.
 */
export function logDecided(consumer: string, decided: readonly Decided[], log: Log): void {
  const quiet = log.isOn?.('debug') === false
  const lines = { warn: 0, debug: 0 }
  for (const one of decided) {
    const { outcome, code } = one.decision
    if ((outcome === 'applied' || outcome === 'stored') && code === '') continue
    const level = loud.has(outcome) ? 'warn' : 'debug'
    if (level === 'debug' && quiet) continue
    if (++lines[level] <= linesMax)
      log[level](`message ${outcome === 'retry' ? 'will be retried' : outcome}`, fieldsOf(consumer, one))
  }
  for (const level of ['warn', 'debug'] as const satisfies LogLevel[]) {
    const more = lines[level] - linesMax
    if (more > 0) log[level]('more messages with an outcome in the same batch', { consumer, count: more })
  }
}

function fieldsOf(consumer: string, { received, decision }: Decided): LogFields {
  const { outcome, failureClass, code, attempts } = decision
  const known = factsOf(received)
  const { properties, redelivered } = received.delivery
  return {
    consumer,
    messageId: received.id,
    businessKey: received.readable ? received.businessKey : null,
    dedupDecision: dedupDecision(decision),
    redelivered,
    correlationId: known?.correlationId ?? properties.correlationId ?? null,
    causationId: known?.causationId ?? null,
    outcome,
    ...(failureClass !== '' && { class: failureClass }),
    ...(code !== '' && { code }),
    ...(attempts > 0 && { attempts }),
  }
}

function dedupDecision({ outcome, status, code }: Decision): string {
  if (code === 'conflict') return 'DUPLICATE_OTHER_PAYLOAD'
  if (outcome === 'already held') return 'DUPLICATE_OF_HELD'
  if (outcome !== 'duplicate') return 'FIRST_SEEN'
  if (status === null) return 'DUPLICATE_SAME_PAYLOAD'
  return code === '' ? 'DUPLICATE_BUSINESS_KEY' : 'DUPLICATE_EFFECT'
}
