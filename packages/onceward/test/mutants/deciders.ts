/** A file of pure decisions, and the tests that Stryker runs against each of its mutants. */
export interface Decider {
  /** Relative to the library's `src`. */
  readonly file: string
  /** Relative to its `test`, without the ending. */
  readonly tests: readonly string[]
}

export const deciders: readonly Decider[] = [
  { file: 'engine/batch/decide-outcome.ts', tests: ['unit/whole-decisions', 'unit/decide-outcome'] },
  { file: 'engine/batch/decide-in-order.ts', tests: ['unit/decide-in-order'] },
  { file: 'engine/batch/parking-caps.ts', tests: ['unit/parking-caps'] },
  { file: 'engine/batch/recover-attempt.ts', tests: ['unit/recover-attempt'] },
  { file: 'engine/retry/decide-with-broker-retry.ts', tests: ['unit/decide-with-broker-retry'] },
  { file: 'engine/retry/retry-delay.ts', tests: ['unit/retry-delay'] },
  { file: 'effects/external/decide-result.ts', tests: ['unit/decide-result'] },
  { file: 'effects/external/judge-answer.ts', tests: ['unit/judge-answer'] },
  { file: 'effects/projection/walk-key.ts', tests: ['unit/walk-key'] },
  { file: 'drivers/kafka/loss.ts', tests: ['unit/kafka-loss'] },
  { file: 'drivers/rabbitmq/ack-tracker.ts', tests: ['rabbitmq/ack-tracker'] },
]

/** Words that select deciders by file: each part fits into the time of one test file. */
export const deciderParts = {
  outcome: ['batch/decide-outcome'],
  'rest of the engine': [
    'batch/decide-in-order',
    'batch/parking-caps',
    'batch/recover-attempt',
    'engine/retry/',
  ],
  'effects and drivers': ['effects/', 'drivers/'],
} as const

/** Per cent of the mutants that tests must catch. */
export const scoreMin = 85
