import { styleText } from 'node:util'
import type { Progress } from './progress.ts'
import { type WorkerName, workerNames } from './workers.ts'

/** Shows the progress of a run: a few lines redrawn on a terminal, plain lines elsewhere. */
export interface View {
  say(line: string): void
  killed(name: WorkerName, pid: number): void
  show(progress: Progress): void
  /** Keeps the last picture. */
  end(): void
}

export type Output = NodeJS.WriteStream & { readonly fd: number }

export function createView(output: Output): View {
  return output.isTTY ? new TerminalView(output) : new LineView(output)
}

export const number = (value: number) => Math.round(value).toLocaleString('en-US')

const lineEverySeconds = 2

class LineView implements View {
  readonly #output: Output
  readonly #rates = new Rates()
  #nextAt = 0

  constructor(output: Output) {
    this.#output = output
  }

  say(line: string): void {
    this.#output.write(`${line}\n`)
  }

  killed(name: WorkerName, pid: number): void {
    this.say(`        kill -9 ${name} (process ${pid})`)
  }

  show(progress: Progress): void {
    if (progress.seconds < this.#nextAt) return
    this.#nextAt = progress.seconds + lineEverySeconds
    const rate = this.#rates.of(progress)
    const flow = (name: string, value: number, perSecond: string) =>
      `${name} ${number(value)} (${perSecond}/s)`
    const parts = [
      `${progress.seconds.toFixed(0).padStart(4)} s ${percent(progress).padStart(5)}`,
      flow('produced', progress.produced, rate.produced),
      flow('applied', progress.applied, rate.applied),
      flow('charged', progress.charges, rate.charges),
      `duplicates ${number(progress.duplicates)}`,
      `conflicts ${progress.conflicts}`,
      `malformed ${progress.malformed}`,
      `kills ${killCount(progress)}`,
    ]
    this.say(parts.join('  '))
  }

  end(): void {}
}

class TerminalView implements View {
  readonly #output: Output
  readonly #rates = new Rates()
  #drawn = 0
  #lastKill = ''
  #last: Progress | null = null

  constructor(output: Output) {
    this.#output = output
  }

  say(line: string): void {
    this.#erase()
    this.#output.write(`${line}\n`)
    if (this.#last !== null) this.#draw(this.#last)
  }

  killed(name: WorkerName, pid: number): void {
    this.#lastKill = `last: ${name}, process ${pid}`
    if (this.#last !== null) this.show(this.#last)
  }

  show(progress: Progress): void {
    this.#last = progress
    this.#erase()
    this.#draw(progress)
  }

  end(): void {
    this.#last = null
    this.#drawn = 0
  }

  #erase(): void {
    if (this.#drawn > 0) this.#output.write(`\u001b[${this.#drawn}A\u001b[0J`)
    this.#drawn = 0
  }

  #draw(progress: Progress): void {
    const lines = picture(progress, this.#rates.of(progress), this.#lastKill)
    const width = this.#output.columns ?? 80
    this.#output.write(lines.map(line => `${cut(line, width)}\n`).join(''))
    this.#drawn = lines.length
  }
}

function picture(progress: Progress, rate: RatesNow, lastKill: string): string[] {
  const label = (text: string) => styleText('gray', text.padEnd(11))
  const share = progress.captures === 0 ? 0 : progress.completed / progress.captures
  const full = Math.min(30, Math.floor(share * 30))
  const bar = styleText('green', '█'.repeat(full)) + styleText('gray', '░'.repeat(30 - full))
  const flow = (name: string, value: number, perSecond: string) =>
    `${name} ${number(value).padStart(7)} ${styleText('gray', `${perSecond}/s`.padEnd(8))}`
  const kills = workerNames.map(name => `${name} ${styleText('red', `×${progress.kills[name]}`)}`).join('  ')
  return [
    '',
    `  ${bar} ${percent(progress)}  ${number(progress.completed)} of ${number(progress.captures)} captures done`,
    `  ${label('flow')}${flow('produced', progress.produced, rate.produced)}${flow('applied', progress.applied, rate.applied)}${flow('charged', progress.charges, rate.charges)}`,
    `  ${label('set aside')}duplicates skipped ${number(progress.duplicates)}   conflicts ${progress.conflicts}   malformed ${progress.malformed}`,
    `  ${label('gateway')}no answer ${progress.hung}   5xx ${progress.errors}   unknown now ${progress.unknown}`,
    `  ${label('kill -9')}${kills}  ${styleText('gray', lastKill)}`,
  ]
}

/** A wrapped line would break the redraw, so a long line loses its colour and is cut. */
function cut(line: string, width: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours take no room
  const plain = line.replace(/\u001b\[[0-9;]*m/g, '')
  return plain.length < width ? line : `${plain.slice(0, width - 2)}…`
}

function percent({ completed, captures }: Progress): string {
  return `${captures === 0 ? 0 : Math.floor((completed / captures) * 100)} %`
}

function killCount({ kills }: Progress): number {
  return workerNames.reduce((sum, name) => sum + kills[name], 0)
}

type RatesNow = { readonly produced: string; readonly applied: string; readonly charges: string }

/** Rates per second, over the last few pictures. */
class Rates {
  #window: Progress[] = []

  of(progress: Progress): RatesNow {
    this.#window = [...this.#window.filter(one => one.seconds > progress.seconds - 3), progress]
    const first = this.#window[0]!
    const seconds = Math.max(0.1, progress.seconds - first.seconds)
    const per = (field: 'produced' | 'applied' | 'charges') =>
      number((progress[field] - first[field]) / seconds)
    return { produced: per('produced'), applied: per('applied'), charges: per('charges') }
  }
}
