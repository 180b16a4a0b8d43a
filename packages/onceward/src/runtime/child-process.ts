import type { Health } from './run-health.ts'

/** What a supervisor asks its children for. */
export interface ChildAnswers {
  /** Prometheus text. */
  readonly metrics: string
  readonly health: Health
}

export interface Question {
  readonly question: keyof ChildAnswers
  readonly number: number
}

/** Set in a child: its number among its siblings and their count, as `1/2`. */
const numbering = 'ONCEWARD_CHILD'

export interface ChildNumber {
  readonly number: number
  readonly of: number
}

export const childEnvironment = ({ number, of }: ChildNumber) => ({ [numbering]: `${number}/${of}` })

/** Null in a process that is not supervised. */
export function childNumber(): ChildNumber | null {
  const [number, of] = (process.env[numbering] ?? '').split('/').map(Number)
  return number && of ? { number, of } : null
}

export interface SupervisorOptions {
  /** Null: the supervisor does not expect heartbeats. */
  readonly deadlineMs: number | null
  readonly onOrphaned: () => void
}

/** The child's side of the supervisor's connection. */
export interface SupervisorLink {
  answer<Kind extends keyof ChildAnswers>(
    kind: Kind,
    read: () => ChildAnswers[Kind] | Promise<ChildAnswers[Kind]>,
  ): void
  /** Announces an ordered end: the supervisor does not restart this process. */
  ending(report: unknown): void
}

/** Reports that the event loop runs, answers the supervisor's questions, and exits with the supervisor. */
export function linkToSupervisor({ deadlineMs, onOrphaned }: SupervisorOptions): SupervisorLink {
  const readers: {
    -readonly [Kind in keyof ChildAnswers]?: () => ChildAnswers[Kind] | Promise<ChildAnswers[Kind]>
  } = {}
  const beat = () => void process.send?.('alive')
  const timer = deadlineMs === null ? undefined : setInterval(beat, deadlineMs / 4)
  beat()
  process.once('disconnect', onOrphaned)
  process.on('message', async ({ question, number }: Question) => {
    const answer = await Promise.resolve(readers[question]?.()).catch(() => null)
    process.send?.({ number, answer: answer ?? null })
  })
  return {
    answer(kind, read) {
      Object.assign(readers, { [kind]: read })
    },
    ending(report) {
      clearInterval(timer)
      process.off('disconnect', onOrphaned)
      process.send?.({ ending: report }, () => process.disconnect?.())
    },
  }
}
