import type { CellResult } from './run-cell.ts'

/** Servers start, work is finished and judged: time of a cell in which nothing is produced. */
const aroundMs = 25_000
const shortestMs = 6_000
const minuteMs = 60_000

/** How long each of so many cells is produced to. In whole milliseconds, so that a text repeats it. */
export function produceMsOf(minutes: number, cells: number): number {
  return Math.max(shortestMs, Math.round((minutes * minuteMs) / cells) - aroundMs)
}

/** A run that has not ended by then hangs: six times as long is common on a machine that is busy. */
export const deadlineMsOf = (produceMs: number): number => 12 * produceMs + 10 * minuteMs

/** The minutes that give one cell the same time. */
export const minutesOf = (produceMs: number): number => (produceMs + aroundMs) / minuteMs

/** The options that plan the same messages and faults for this cell alone. */
export function repeatOptions({ cell, seed, produceMs, short }: CellResult): string[] {
  const options = ['--cells', cell, '--seed', String(seed), '--minutes', String(minutesOf(produceMs))]
  return short ? [...options, '--short'] : options
}
