import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Cell, cellName } from './cell.ts'
import { EventLog } from './event-log.ts'
import type { Happened } from './faults/run-plan.ts'
import { readSendLog } from './oracle/evidence.ts'
import { isClean, type Verdict } from './oracle/judge.ts'
import type { Available } from './plan/faults.ts'
import { playCell } from './play-cell.ts'
import { modeOf, sendLogName } from './processes/settings.ts'

export interface CellRequest {
  readonly cell: Cell
  readonly seed: number
  readonly produceMs: number
  /** A run that has not ended by then breaks off. */
  readonly deadlineMs: number
  readonly short: boolean
  readonly keep: boolean
  readonly available: Available
  /** The library of the clock that jumps; null without one. */
  readonly clockLibrary: string | null
  readonly say: (line: string) => void
}

/** What a run that reached its verdict found. */
export interface Played {
  readonly messages: number
  readonly happened: Happened
  /** Planned, and never staged. */
  readonly missed: readonly string[]
  readonly verdict: Verdict
}

export interface CellResult extends Played {
  readonly cell: string
  readonly seed: number
  readonly produceMs: number
  readonly short: boolean
  readonly mode: string
  readonly seconds: number
  readonly ok: boolean
  readonly folder: string | null
  /** Why the run has no verdict; null if it has one. */
  readonly brokeOff: string | null
}

/** Everything it started has ended when it resolves. */
export type Play = (
  request: CellRequest,
  files: { readonly folder: string; readonly log: EventLog },
  signal: AbortSignal,
) => Promise<Played>

/**
 * One cell from its servers to its verdict. A run that breaks off is a failed one, with the files it left:
 * the next cell must not pay for it. Rejects only when the command is to end.
 */
export async function runCell(
  request: CellRequest,
  signal: AbortSignal,
  play: Play = playCell,
): Promise<CellResult> {
  const { cell, seed, produceMs, short, keep } = request
  const began = performance.now()
  const folder = mkdtempSync(join(tmpdir(), `onceward-chaos-${cell.source}-${cell.database}-`))
  const log = new EventLog(join(folder, 'events.jsonl'), ({ what, at: _, ...facts }) => {
    if (what !== 'command') request.say(`${cellName(cell)} ${what} ${JSON.stringify(facts).slice(0, 200)}`)
  })
  let brokeOff: string | null = null
  const mayRun = AbortSignal.any([signal, AbortSignal.timeout(request.deadlineMs)])
  const played = await play(request, { folder, log }, mayRun).catch(error => {
    signal.throwIfAborted()
    brokeOff = error instanceof Error ? (error.stack ?? error.message) : String(error)
    return remains(folder, log, brokeOff)
  })
  const { verdict, missed, happened } = played
  const ok = isClean(verdict) && missed.length === 0
  writeFileSync(
    join(folder, 'verdict.json'),
    JSON.stringify({ verdict, missed, happened, brokeOff }, null, 1),
  )
  if (ok && !keep) rmSync(folder, { recursive: true, force: true })
  return {
    ...played,
    cell: cellName(cell),
    ...{ seed, produceMs, short, mode: modeOf(seed), ok, brokeOff },
    seconds: Math.round((performance.now() - began) / 1_000),
    folder: ok && !keep ? null : folder,
  }
}

/** What a run without a verdict did, from what it wrote down. */
function remains(folder: string, log: EventLog, brokeOff: string): Played {
  log.add('broke off', { error: brokeOff })
  const happened: Happened = {}
  for (const { what, kind } of log.events)
    if (what === 'fault') happened[kind as string] = (happened[kind as string] ?? 0) + 1
  return {
    messages: readSendLog(join(folder, sendLogName)).confirmed.length,
    happened,
    missed: [],
    verdict: { lost: [], doubled: [], outOfOrder: [], unexplained: [`the run broke off: ${brokeOff}`] },
  }
}
