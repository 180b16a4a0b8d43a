import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { minutesOf } from './repeat.ts'
import type { CellResult } from './run-cell.ts'

/** What one run of one cell found, as a line of `record/runs.jsonl`. */
export interface RecordedRun {
  readonly day: string
  readonly cell: string
  readonly seed: number
  readonly mode: string
  /** With cell and seed it repeats the plan. Absent from the first runs. */
  readonly minutes?: number
  readonly short?: true
  readonly seconds: number
  readonly messages: number
  readonly kills: Readonly<Record<string, number>>
  readonly lost: number
  readonly doubled: number
  readonly outOfOrder: number
  readonly unexplained: number
  /** Planned kinds of fault that never happened. */
  readonly missed: number
  /** The run has no verdict: why. */
  readonly brokeOff?: string
  /** Written by hand: what a run that found something led to. */
  readonly note?: string
}

const file = join(dirname(fileURLToPath(import.meta.url)), 'record', 'runs.jsonl')

export function toRecord(result: CellResult): RecordedRun {
  const { verdict, happened, missed, cell, seed, mode, seconds, messages, brokeOff } = result
  return {
    day: new Date().toISOString().slice(0, 10),
    ...{ cell, seed, mode, minutes: minutesOf(result.produceMs) },
    ...(result.short && { short: true }),
    ...{ seconds, messages, kills: happened },
    lost: verdict.lost.length,
    doubled: verdict.doubled.length,
    outOfOrder: verdict.outOfOrder.length,
    unexplained: verdict.unexplained.length,
    missed: missed.length,
    ...(brokeOff !== null && { brokeOff: brokeOff.split('\n')[0]! }),
  }
}

export function appendRecord(result: CellResult): void {
  mkdirSync(dirname(file), { recursive: true })
  appendFileSync(file, `${JSON.stringify(toRecord(result))}\n`)
}

export function readRecord(): RecordedRun[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter(line => line !== '').map(line => JSON.parse(line) as RecordedRun)
}
