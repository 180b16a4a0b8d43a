import { endWithNpm } from '../../../runtime/end-with-npm.ts'
import { loadConsumer, loadStore } from '../../../runtime/load-consumer.ts'
import { realEnvironment } from '../../../runtime/real-environment.ts'
import { openReplay, type Replay } from '../../../runtime/replay.ts'
import { attachDatabase } from '../../database.ts'
import { consoleLog } from '../../output.ts'
import { serverAddresses } from '../../server-addresses.ts'

/** For commands that need a contract. SIGTERM and Ctrl-C abort the signal. */
export async function withReplay(
  file: string,
  json: boolean,
  work: (replay: Replay, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const log = consoleLog(json)
  const consumer = await loadConsumer(file)
  const store = await loadStore(file)
  const database = await attachDatabase(log)
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  process.on('SIGTERM', stop).on('SIGINT', stop)
  endWithNpm()
  try {
    const replay = await openReplay(consumer, {
      databaseUrl: database.url,
      store,
      ...serverAddresses(),
      env: realEnvironment({ log }),
    })
    await work(replay, stopping.signal).finally(() => replay.close())
  } finally {
    process.off('SIGTERM', stop).off('SIGINT', stop)
    await store?.close?.()
  }
}
