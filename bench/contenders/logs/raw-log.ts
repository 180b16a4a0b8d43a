import { type OpenContender, startClock } from '../contender.ts'
import type { ConnectLog } from './log-reader.ts'

/** The client alone: records are counted and dropped. */
export function openRawLog(connect: ConnectLog): OpenContender {
  return async place => {
    const client = await connect(place)
    return async task => {
      const reader = await client.open(task)
      const seconds = startClock()
      let left = task.load.count
      while (left > 0) left -= (await reader.read()).length
      const took = seconds()
      await reader.close()
      return took
    }
  }
}
