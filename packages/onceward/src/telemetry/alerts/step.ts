import type { Consumer } from '../../contract/define-consumer.ts'
import type { AlertContext } from './alert.ts'

/** What a runbook is written for. `name` and `file` are words of a shell. */
export interface RunbookPlace extends AlertContext {
  readonly name: string
  readonly file: string
}

export interface RunbookStep {
  readonly text: string
  /** Lines for a shell. Words in capitals are filled in by whoever runs them. */
  readonly commands?: (place: RunbookPlace) => readonly string[]
  readonly queries?: (place: RunbookPlace) => readonly string[]
  /** Consumers it concerns. Default all. */
  readonly applies?: (consumer: Consumer) => boolean
}

export interface Runbook {
  readonly name: string
  readonly title: string
  readonly means: string
  readonly steps: readonly RunbookStep[]
  readonly over: string
  /** Why no alert names it; only where none does. */
  readonly noAlert?: string
}
