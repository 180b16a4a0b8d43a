import type { Progress } from './progress.ts'
import type { Verdict } from './verdict.ts'
import { number, type View } from './view.ts'
import { type WorkerName, workerNames } from './workers.ts'

/** What the terminal shows, kept for the console as well. */
export class DemoScreen implements View {
  readonly #view: View
  #progress: Progress | null = null
  #verdict: Verdict | null = null
  #lastKill: string | null = null

  constructor(view: View) {
    this.#view = view
  }

  say(line: string): void {
    this.#view.say(line)
  }

  killed(name: WorkerName, pid: number): void {
    this.#lastKill = `${name}, process ${pid}`
    this.#view.killed(name, pid)
  }

  show(progress: Progress): void {
    this.#progress = progress
    this.#view.show(progress)
  }

  end(): void {
    this.#view.end()
  }

  decided(verdict: Verdict): void {
    this.#verdict = verdict
  }

  /** The card above the overview. Null before the first figures. */
  headline() {
    const progress = this.#progress
    if (progress === null) return null
    const { captures, completed } = progress
    return {
      title:
        this.#verdict === null
          ? 'The demo runs'
          : this.#verdict.ok
            ? 'Verdict: nothing lost, nothing twice'
            : 'Verdict: not correct',
      about: aboutOf(this.#verdict, this.#lastKill),
      state: stateOf(this.#verdict),
      progress: captures === 0 ? 0 : completed / captures,
      figures: [...figuresOf(progress), ...(this.#verdict === null ? [] : judgedOf(this.#verdict))],
      checks: this.#verdict?.checks ?? [],
    }
  }
}

function stateOf(verdict: Verdict | null): 'running' | 'passed' | 'failed' {
  if (verdict === null) return 'running'
  return verdict.ok ? 'passed' : 'failed'
}

function aboutOf(verdict: Verdict | null, lastKill: string | null): string {
  if (verdict !== null) return "From the producer's log, the tables and the gateway's book"
  return lastKill === null
    ? 'Two consumers and a dispatcher will be killed while they work'
    : `Last kill -9: ${lastKill}`
}

function figuresOf(progress: Progress) {
  const kills = workerNames.reduce((sum, name) => sum + progress.kills[name], 0)
  return [
    { name: 'produced', value: number(progress.produced) },
    { name: 'applied', value: number(progress.applied) },
    { name: 'charged', value: number(progress.charges) },
    { name: 'duplicates skipped', value: number(progress.duplicates) },
    { name: 'conflicts', value: number(progress.conflicts) },
    { name: 'malformed', value: number(progress.malformed) },
    { name: 'gateway gave no answer', value: number(progress.hung) },
    { name: 'kill -9', value: number(kills) },
  ]
}

function judgedOf({ lost, appliedTwice, chargedTwice }: Verdict) {
  return [
    { name: 'lost', value: number(lost) },
    { name: 'applied twice', value: number(appliedTwice) },
    { name: 'charged twice', value: number(chargedTwice) },
  ]
}
