import { spawnSync } from 'node:child_process'
import type { PostgresBinaries } from './postgres-binaries.ts'
import { type ProcessIdentity, signalProcess, waitForExit } from './process-identity.ts'

const fastStopMs = 20_000
const killMs = 10_000

/** Fast shutdown (sessions are ended, a checkpoint is written), and SIGKILL if that takes too long. */
export async function stopPostmaster(
  binaries: PostgresBinaries,
  dataDir: string,
  server: ProcessIdentity,
): Promise<void> {
  // Windows has no signals: there pg_ctl speaks to the server through its own pipe.
  if (process.platform === 'win32') spawnSync(binaries.pgCtl, ['stop', '-D', dataDir, '-m', 'fast', '-W'])
  else signalProcess(server, 'SIGINT')
  if (await waitForExit(server, fastStopMs)) return
  signalProcess(server, 'SIGKILL')
  if (await waitForExit(server, killMs)) return
  throw new Error(
    `PostgreSQL (process ${server.pid}) did not exit, even after SIGKILL. Its data is safe: the next start recovers it. ` +
      'Look for a process stuck in the kernel (disk trouble) before starting again.',
  )
}
