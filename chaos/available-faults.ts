import type { Available } from './plan/faults.ts'
import { findFakeClock } from './processes/fake-clock.ts'
import { noSmallDisk } from './servers/single-primary.ts'

/** What this machine cannot stage, with the reason. */
export async function availableFaults(
  log: (line: string) => void,
): Promise<{ available: Available; clockLibrary: string | null }> {
  const clock = await findFakeClock(log)
  return {
    available: { disk: noSmallDisk(), clock: 'reason' in clock ? clock.reason : null },
    clockLibrary: 'library' in clock ? clock.library : null,
  }
}
