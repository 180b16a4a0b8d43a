import type { Consumer } from '../../../contract/define-consumer.ts'
import type { Log } from '../../../environment.ts'
import { servePages, starting } from '../../../runtime/observe-server.ts'
import { type ProcessGroup, startProcessGroup } from '../../../runtime/process-group.ts'
import { openDatabase } from '../../database.ts'
import { print } from '../../output.ts'
import { serveMetrics } from '../../serve-metrics.ts'
import type { RunFlags } from './run-here.ts'
import { type RunReport, reportText, sumReports } from './run-report.ts'

/** Runs the same command in child processes, and restarts those that crash. Returns the exit code. */
export async function runSupervised(
  { isolation }: Pick<Consumer, 'isolation'>,
  flags: RunFlags,
  log: Log,
  processes: number,
): Promise<number> {
  let group: ProcessGroup | null = null
  const pages = {
    metrics: async () => (await group?.metrics()) ?? '',
    health: () => group?.health() ?? starting,
  }
  const server = await serveMetrics(flags, log, at => servePages(at, pages))
  const database = await openDatabase(log, { embedded: flags.embedded === true })
  try {
    group = startProcessGroup({
      program: process.argv[1]!,
      args: process.argv.slice(2),
      environment: { ONCEWARD_DATABASE_URL: database.url },
      deadlineMs: isolation.mode === 'child' ? isolation.deadlineMs : null,
      memoryMaxMb: isolation.mode === 'child' ? isolation.memoryMaxMb : null,
      processes,
      log,
    })
    const ends = await group.ended
    const code = ends.find(end => end.code !== 0)?.code ?? 0
    const reports = ends.map(end => end.report as RunReport | null).filter(report => report !== null)
    if (code === 0 && reports.length > 0) {
      const total = sumReports(reports)
      print(flags.json === true, { ok: true, ...total }, () => reportText(total))
    }
    return code
  } finally {
    await database.close()
    await server?.close()
  }
}
