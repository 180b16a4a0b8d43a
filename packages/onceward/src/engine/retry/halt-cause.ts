import { type ErrorCode, OncewardError } from '../../errors.ts'
import type { Failure } from '../batch/outcome.ts'
import { classifyFailure } from './classify-failure.ts'

/**
 * A deliberate halt: the contract halts on this failure class, or the store refuses statements that every
 * message needs.
 */
export class DecidedHalt extends OncewardError {
  constructor(
    message: string,
    options: { cause?: unknown; details?: Readonly<Record<string, unknown>> } = {},
  ) {
    super('consumer_halted', message, options)
  }
}

const operational: ReadonlySet<ErrorCode> = new Set([
  'configuration',
  'schema_missing',
  'schema_too_old',
  'schema_too_new',
  'wrong_environment',
  'wrong_server',
  'server_changed',
  'consumer_renamed',
  'topology_mismatch',
  'topology_unsafe',
  'broker_unreachable',
  'database_unreachable',
  'start_aborted',
  'commit_not_confirmed',
  'ownership_lost',
  'position_moved',
  'records_lost',
  'retention_too_short',
  'clocks_disagree',
  'embedded_unavailable',
] satisfies ErrorCode[])

const ofEnvironment: ReadonlySet<Failure['class']> = new Set<Failure['class']>([
  'configuration',
  'transient',
  'overload',
  'contention',
])

/**
 * Whether a message may be the cause of the halt. A supervisor restarts the consumer until an operator has
 * fixed a problem that concerns every message. If such halts counted against messages in flight, the first
 * one would be parked because of, say, a missing table.
 */
export function mayBeOfMessage(error: unknown): boolean {
  if (error instanceof DecidedHalt) return false
  if (error instanceof OncewardError) return !operational.has(error.code)
  return !ofEnvironment.has(classifyFailure(error, {}).class)
}
