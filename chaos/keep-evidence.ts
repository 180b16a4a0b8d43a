import { copyFileSync, existsSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Stage } from './faults/stage.ts'
import { type Evidence, gatherEvidence } from './oracle/evidence.ts'

/** Puts what a reader needs beside plan, events and logs of the processes: the tables and the servers' logs. */
export function keepEvidence({ folder, database, broker }: Stage, evidence: Evidence): void {
  writeFileSync(join(folder, 'evidence.json'), JSON.stringify(evidence, null, 1))
  keepServerLogs({ folder, database, broker })
}

/** The same for a run that broke off, as far as its servers still answer. */
export async function keepRemains(stage: Stage): Promise<void> {
  keepServerLogs(stage)
  const { settings, fleet, folder } = stage
  const unread = { copies: null, deadLetters: null, depth: null, late: [] }
  const evidence = await gatherEvidence(settings, { ...unread, halts: fleet.halts })
  writeFileSync(join(folder, 'evidence.json'), JSON.stringify(evidence, null, 1))
}

function keepServerLogs({ folder, database, broker }: Pick<Stage, 'folder' | 'database' | 'broker'>): void {
  const files = [...database.primary.logFiles(), ...broker.logFiles()]
  for (const [n, file] of files.entries())
    if (existsSync(file)) copyFileSync(file, join(folder, `server-${n}-${basename(dirname(file))}.log`))
}
