import { realEnvironment } from 'onceward'
import { startObserveServer } from '../../packages/onceward/src/runtime/observe-server.ts'
import type { OpenContender } from './contender.ts'
import { consumeAs, defineIncrements, rabbitSource } from './onceward.ts'

const scrapeEveryMs = 5_000

/**
 * The batch form as `onceward run` has it: the SDK counts, and a scraper collects, three times as often as
 * Prometheus does by default.
 */
export const openOncewardMeasured: OpenContender = async place => {
  const server = await startObserveServer({ host: '127.0.0.1', port: 0 })
  const scrape = async () => (await fetch(`${server.url}/metrics`)).text()
  setInterval(() => void scrape(), scrapeEveryMs).unref()
  return consumeAs(
    place,
    source => defineIncrements({ form: 'batch' }, source),
    rabbitSource(place),
    () => realEnvironment({ meter: server.meter }),
  )
}
