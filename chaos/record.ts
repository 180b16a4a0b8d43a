import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CellResult } from './run-cell.ts'

/** What one run of one cell found, as a line of `record/runs.jsonl`. */
export interface RecordedRun {
  readonly day: string
  readonly cell: string
  readonly seed: number
  readonly mode: string
  readonly seconds: number
  readonly messages: number
  readonly kills: Readonly<Record<string, number>>
  readonly lost: number
  readonly doubled: number
  readonly outOfOrder: number
  readonly unexplained: number
  /** Planned kinds of fault that never happened. */
  readonly missed: number
  /** Written by hand: what a run that found something led to. */
  readonly note?: string
}

const file = join(dirname(fileURLToPath(import.meta.url)), 'record', 'runs.jsonl')

export function toRecord({
  verdict,
  happened,
  missed,
  cell,
  seed,
  mode,
  seconds,
  messages,
}: CellResult): RecordedRun {
  return {
    day: new Date().toISOString().slice(0, 10),
    ...{ cell, seed, mode, seconds, messages, kills: happened },
    lost: verdict.lost.length,
    doubled: verdict.doubled.length,
    outOfOrder: verdict.outOfOrder.length,
    unexplained: verdict.unexplained.length,
    missed: missed.length,
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
