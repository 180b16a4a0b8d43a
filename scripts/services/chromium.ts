import { whileLocked } from './cache-folders.ts'
import { findProgram, needProgram } from './run-command.ts'
import type { Log } from './service.ts'

export type Chromium = { path: string } | { unavailable: string }

/** The one on the PATH, or Debian's, about 100 MB, which only root can install. */
export async function ensureChromium(options: { log?: Log } = {}): Promise<Chromium> {
  const log: Log = line => options.log?.(`chromium: ${line}`)
  const install = () => needProgram('chromium', ['chromium', 'fonts-dejavu-core'], log)
  try {
    return {
      path:
        findProgram('chromium') ??
        findProgram('google-chrome') ??
        (await whileLocked('chromium', log, install)),
    }
  } catch (error) {
    return { unavailable: (error as Error).message }
  }
}
