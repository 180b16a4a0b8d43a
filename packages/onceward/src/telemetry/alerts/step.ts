import type { Consumer } from '../../contract/define-consumer.ts'
import type { AlertContext } from './alert.ts'

/** The consumer that a runbook is printed for. `name` and `file` are quoted for a shell. */
export interface RunbookPlace extends AlertContext {
  readonly name: string
  readonly file: string
}

export interface RunbookStep {
  readonly text: string
  /** Lines for a shell. The operator fills in the words in capitals. */
  readonly commands?: (place: RunbookPlace) => readonly string[]
  readonly queries?: (place: RunbookPlace) => readonly string[]
  /** Consumers it applies to. Default all. */
  readonly applies?: (consumer: Consumer) => boolean
}

export interface Runbook {
  readonly name: string
  readonly title: string
  readonly means: string
  readonly steps: readonly RunbookStep[]
  readonly over: string
  /** Why no alert leads to it; set only where none does. */
  readonly noAlert?: string
}
