import { existsSync, globSync, writeFileSync } from 'node:fs'
import { needProgram } from '../../scripts/services/run-command.ts'

/** The clock of one process, which jumps while the process runs. */
export interface FakeClock {
  readonly env: NodeJS.ProcessEnv
  /** From now on its clock differs by so many seconds from the machine's. */
  jump(seconds: number): void
}

const libraries = '/usr/lib/*/faketime/libfaketime.so.1'

/** Installs Debian's package once. Gives the reason where that is not possible. */
export async function findFakeClock(
  log: (line: string) => void,
): Promise<{ library: string } | { reason: string }> {
  if (process.platform !== 'linux') return { reason: 'libfaketime is used on Linux only' }
  try {
    if (globSync(libraries).length === 0) await needProgram('faketime', ['faketime'], log)
  } catch (error) {
    return { reason: (error as Error).message }
  }
  const [library] = globSync(libraries)
  return library === undefined || !existsSync(library)
    ? { reason: 'libfaketime is not installed' }
    : { library }
}

/** Monotonic clocks keep their pace, as when an operator or NTP sets the clock of a machine. */
export function fakeClock(library: string, file: string): FakeClock {
  const jump = (seconds: number) => writeFileSync(file, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}\n`)
  jump(0)
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    },
    jump,
  }
}
