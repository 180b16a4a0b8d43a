import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { type CrashPoint, crashPoints, type Reach } from '../crash-points.ts'
import { OncewardError } from '../errors.ts'

/** At which passage of a point the process dies, and what it leaves as proof. */
export interface DeathOptions {
  /** Which passage of the point kills; default the first. */
  readonly hit?: number
  /**
   * A file name or an open descriptor. It gets the line `died at <point>, passage <n>` just before the kill,
   * so that the parent can prove that the point was reached.
   */
  readonly witness?: string | number
}

/** A `reach` that ends its own process with SIGKILL at the given passage of one crash point. */
export function dieAt(point: CrashPoint, { hit = 1, witness }: DeathOptions = {}): Reach {
  if (!Object.hasOwn(crashPoints, point)) {
    throw new OncewardError(
      'usage',
      `"${point}" is not a crash point. Known: ${Object.keys(crashPoints).join(', ')}.`,
    )
  }
  let passages = 0
  return reached => {
    if (reached !== point || ++passages !== hit) return
    if (witness !== undefined) testify(witness, `died at ${point}, passage ${passages}\n`)
    process.kill(process.pid, 'SIGKILL')
    // The signal may take a moment: no further instruction of the process may count.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  }
}

function testify(witness: string | number, line: string): void {
  if (typeof witness === 'number') return void writeSync(witness, line)
  const file = openSync(witness, 'a')
  writeSync(file, line)
  fsyncSync(file)
  closeSync(file)
}
