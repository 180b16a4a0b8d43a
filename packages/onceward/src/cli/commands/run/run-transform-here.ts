import type { Transform } from '../../../contract/define-transform.ts'
import type { Log } from '../../../environment.ts'
import { OncewardError } from '../../../errors.ts'
import { endWithNpm } from '../../../runtime/end-with-npm.ts'
import { startObserveServer } from '../../../runtime/observe-server.ts'
import { realEnvironment } from '../../../runtime/real-environment.ts'
import { runTransform } from '../../../runtime/run-transform.ts'
import { print } from '../../output.ts'
import { serveMetrics } from '../../serve-metrics.ts'
import { serverAddresses } from '../../server-addresses.ts'
import { onSignals } from '../../signals.ts'
import { secondsMs, startTimeout } from '../../whole-number.ts'
import { type RunFlags, runHelp } from './run-here.ts'

/** `onceward run` for a transform: one process, without a database, parts and modes. */
export async function runTransformHere(transform: Transform, flags: RunFlags, log: Log): Promise<void> {
  assertApplicable(transform, flags)
  const drainMs = secondsMs(flags.drain, '--drain', runHelp)
  const startTimeoutMs = startTimeout(flags, runHelp)
  endWithNpm()
  const signals = onSignals()
  const server = await serveMetrics(flags, log, startObserveServer)
  try {
    const running = await runTransform(transform, {
      ...serverAddresses(),
      startTimeoutMs,
      signal: signals.starting,
      env: realEnvironment({ log, meter: server?.meter }),
    })
    server?.watch(running.health)
    signals.running(running, drainMs)
    await running.finished
    const { tally } = running
    print(
      flags.json === true,
      { ok: true, ...tally },
      () => `stopped: ${JSON.stringify(tally.outcomes)}, ${tally.outputs} outputs`,
    )
  } finally {
    await server?.close()
  }
}

function assertApplicable({ name }: Transform, { mode, part, embedded, processes }: RunFlags): void {
  const wrong = [
    ...(mode === 'live' ? [] : ['--mode']),
    ...(part === undefined ? [] : ['--part']),
    ...(embedded === true ? ['--embedded'] : []),
    ...(processes === '1' ? [] : ['--processes']),
  ]
  if (wrong.length === 0) return
  throw new OncewardError(
    'usage',
    `${wrong.join(' and ')} cannot be used with transform ${name}: it has no store and runs in one process. Start the command several times to share its partitions. Nothing was started.`,
  )
}
