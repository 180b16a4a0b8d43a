import { realEnvironment } from 'onceward'
import { until } from 'onceward/testing'
import { silent } from '../../src/environment.ts'

/** The environment of a campaign, and whether it has said that it waits for the live consumer. */
export function waitingConsumer() {
  let said = false
  const info = (text: string) => {
    said ||= text.startsWith('waiting for the live consumer')
  }
  return {
    env: realEnvironment({ log: { ...silent, info } }),
    /** Rejects where the work ends without having waited. */
    async untilItWaits(work: Promise<unknown>): Promise<void> {
      let ended = false
      const end = () => {
        ended = true
      }
      work.then(end, end)
      await until('it waits for the live consumer, or ends', () => said || ended)
      if (!said) throw new Error('it ended without having waited for the live consumer')
    },
  }
}
