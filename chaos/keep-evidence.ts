import { copyFileSync, existsSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Stage } from './faults/stage.ts'
import type { Evidence } from './oracle/evidence.ts'

/** Puts what a reader needs beside plan, events and logs of the processes: the tables and the servers' logs. */
export function keepEvidence({ folder, database, broker }: Stage, evidence: Evidence): void {
  writeFileSync(join(folder, 'evidence.json'), JSON.stringify(evidence, null, 1))
  const files = [...database.primary.logFiles(), ...broker.logFiles()]
  for (const [n, file] of files.entries())
    if (existsSync(file)) copyFileSync(file, join(folder, `server-${n}-${basename(dirname(file))}.log`))
}
