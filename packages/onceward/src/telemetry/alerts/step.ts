import type { Consumer } from '../../contract/define-consumer.ts'
import type { AlertContext } from './alert.ts'

/** What a runbook is written for. `name` and `file` are words of a shell. */
export interface Place extends AlertContext {
  readonly name: string
  readonly file: string
}

export interface Step {
  readonly text: string
  /** Lines for a shell. Words in capitals are filled in by whoever runs them. */
  readonly commands?: (place: Place) => readonly string[]
  readonly queries?: (place: Place) => readonly string[]
  /** Consumers it concerns. Default all. */
  readonly applies?: (consumer: Consumer) => boolean
}

export interface Runbook {
  readonly name: string
  readonly title: string
  readonly means: string
  readonly steps: readonly Step[]
  readonly over: string
  /** Why no alert names it; only where none does. */
  readonly noAlert?: string
}
