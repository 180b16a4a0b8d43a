import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { allCells, type Cell, readCells } from './cell.ts'

export interface Options {
  readonly cells: readonly Cell[]
  readonly minutes: number
  readonly seed: number
  readonly json: boolean
  /** Appends what each cell found to `chaos/record`. */
  readonly record: boolean
  /** Keeps the folder of a run that passed, too. */
  readonly keep: boolean
  /** A few kills, no faults of servers: the form of `npm test`. */
  readonly short: boolean
}

export const usage = `Usage: npm run chaos -- [--minutes N] [--seed S] [--cells kafka/standby,quorum,…] [--short] [--record] [--keep] [--json]
  --minutes N   divided over the cells (default 12)
  --seed S      repeats the plan of another run
  --cells       of quorum, stream, kafka, postgres x direct, pgbouncer, standby (default all)
  --short       a few kills on each cell, no faults of servers
  --record      appends the results to chaos/record; npm run reference writes docs/reliability.md
  --keep        keeps the folder of runs that passed`

export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '12' },
      seed: { type: 'string' },
      cells: { type: 'string' },
      json: { type: 'boolean', default: false },
      record: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      short: { type: 'boolean', default: false },
    },
  })
  const minutes = Number(values.minutes)
  const seed = values.seed === undefined ? randomInt(1, 2 ** 31) : Number(values.seed)
  if (!(minutes > 0)) throw new Error(`--minutes is a number of minutes.\n${usage}`)
  if (!Number.isInteger(seed)) throw new Error(`--seed is a whole number.\n${usage}`)
  const { json, record, keep, short } = values
  return {
    cells: values.cells === undefined ? allCells : readCells(values.cells),
    ...{ minutes, seed, json, record, keep, short },
  }
}
