import { type ServiceName, serviceNames } from '../scripts/services/services.ts'
import { measureCheck } from './check.ts'
import { contenders, measuresMetrics, measuresReceipts } from './contenders/contenders.ts'
import { measureCurves } from './curves/curves.ts'
import { writeCurvesPage } from './curves/write-page.ts'
import { measureEffects } from './effects/effects.ts'
import { measureHistory } from './effects/history.ts'
import { measureFailure } from './failure/failure.ts'
import { measureParked } from './failure/parked.ts'
import { measurePurge } from './failure/purge.ts'
import { measureMarkers } from './markers/markers.ts'
import { measureExplain } from './observed/explain.ts'
import { measureLatency } from './observed/latency.ts'
import { measureMemory } from './observed/memory.ts'
import { type Options, type Part, readOptions } from './options.ts'
import { measurePeers } from './peers/measure.ts'
import { writePeersPage } from './peers/write-page.ts'
import { type PreparedPlace, preparePlace } from './place.ts'
import { reportLines } from './print-report.ts'
import { profileLines } from './profile-summary.ts'
import { measureRebalance } from './rebalance/rebalance.ts'
import { jsonLine, type Results } from './report.ts'
import { measureRounds } from './rounds.ts'
import { measureTransform } from './transform/transform.ts'

const needs: Record<ServiceName, (parts: readonly Part[]) => boolean> = {
  postgres: () => true,
  rabbitmq: parts =>
    parts.some(part =>
      [
        'rabbitmq',
        'stream',
        'effects',
        'latency',
        'memory',
        'metrics',
        'receipts',
        'check',
        'peers',
        'curves',
      ].includes(part),
    ),
  kafka: parts =>
    parts.some(part =>
      ['kafka', 'effects', 'rebalance', 'transform', 'check', 'peers', 'curves'].includes(part),
    ),
}

const say = (line: string) => void process.stderr.write(`${line}\n`)

async function measure(place: PreparedPlace, options: Options): Promise<Results> {
  const { parts, roles } = options
  const metrics = parts.includes('metrics')
  const taking = contenders.filter(contender => {
    const { broker, role } = contender
    if (metrics && measuresMetrics(contender)) return true
    if (parts.includes('receipts') && measuresReceipts(contender)) return true
    const beside = role === 'measured form' || measuresReceipts(contender)
    const named = roles === null ? !beside : roles.includes(role)
    return parts.includes(broker) && named
  })
  return {
    measured: taking.length === 0 ? [] : await measureRounds(place, taking, options, say),
    effects: parts.includes('effects') ? await measureEffects(place, options, say) : null,
    failure: parts.includes('failure') ? await measureFailure(place, options, say) : null,
    parked: parts.includes('failure') && roles === null ? await measureParked(options.effectCount) : null,
    history: parts.includes('history') ? await measureHistory(place, options, say) : null,
    markers: parts.includes('markers') ? await measureMarkers(options, say) : null,
    curves: parts.includes('curves') ? await measureCurves(place, options, say) : null,
    purge: parts.includes('purge') ? await measurePurge(place, options, say) : null,
    explain: parts.includes('explain') ? await measureExplain(place, options, say) : null,
    latency: parts.includes('latency') ? await measureLatency(place, options, say) : null,
    memory: parts.includes('memory') ? await measureMemory(place, options.memoryCount) : null,
    transform: parts.includes('transform') ? await measureTransform(place, options, say) : null,
    check: parts.includes('check') ? await measureCheck(place, options.rounds) : null,
    peers: parts.includes('peers') ? await measurePeers(place, options, say) : null,
    rebalance: parts.includes('rebalance')
      ? await measureRebalance(place, options.rebalanceCount, say)
      : null,
  }
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2))
  const place = await preparePlace(serviceNames.filter(name => needs[name](options.parts)))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void place.drop().finally(() => process.exit(130)))
  }
  try {
    const results = await measure(place, options)
    console.log(options.json ? jsonLine(results) : reportLines(results).join('\n'))
    if (options.writeDocs && results.peers !== null)
      await writePeersPage(place, results.peers, options.rounds)
    if (options.writeDocs && results.curves !== null)
      await writeCurvesPage(place, results.curves, options.rounds)
    if (options.profileFolder !== null) for (const line of profileLines(options.profileFolder)) say(line)
  } finally {
    await place.drop()
  }
}

try {
  await main()
} catch (error) {
  say((error as Error).stack ?? String(error))
  process.exitCode = 1
}
