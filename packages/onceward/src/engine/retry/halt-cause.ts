import { type ErrorCode, OncewardError } from '../../errors.ts'
import type { Failure } from '../batch/outcome.ts'
import { classifyFailure } from './classify-failure.ts'

/**
 * A halt that was decided: by the contract, of which class stops everything, or by a store that refuses what
 * every message needs.
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

const ofSurroundings: ReadonlySet<Failure['class']> = new Set<Failure['class']>([
  'configuration',
  'transient',
  'overload',
  'contention',
])

/**
 * Whether a message may be why the consumer halts. A supervisor starts it again and again until people have
 * mended what concerns every message: if those halts were held against what was in hand, the first one in
 * line would be parked for a missing table.
 */
export function mayBeOfMessage(error: unknown): boolean {
  if (error instanceof DecidedHalt) return false
  if (error instanceof OncewardError) return !operational.has(error.code)
  return !ofSurroundings.has(classifyFailure(error, {}).class)
}
