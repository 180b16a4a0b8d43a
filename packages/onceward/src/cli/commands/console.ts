import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { Command } from 'commander'
import { parse } from 'yaml'
import { errorCode, OncewardError } from '../../errors.ts'
import { withGuardedPool } from '../../runtime/guarded-pool.ts'
import { loadConsumer } from '../../runtime/load-consumer.ts'
import { attachDatabase } from '../database.ts'
import { consoleLog } from '../output.ts'
import { wholeNumber } from '../whole-number.ts'

interface Flags {
  port: string
  host: string
  basePath: string
  person?: string
  contract?: string[]
  config?: string
}

/** The part of `@onceward/console` that this command uses. The package is installed separately. */
interface ConsolePackage {
  serveConsole(options: object): Promise<{
    readonly url: string
    readonly signInUrl: string | null
    close(): Promise<void>
  }>
}

export function consoleCommand(): Command {
  return new Command('console')
    .description('serve the console in the browser; needs the package @onceward/console')
    .option('--port <port>', 'port to listen on', '4400')
    .option('--host <address>', 'address to listen on; others than loopback need --config', '127.0.0.1')
    .option('--base-path <path>', 'path below which it is served', '/')
    .option('--person <name>', 'who signs in by the printed link; default: the user of this process')
    .option('--contract <files...>', 'consumer files: they decode fixed payloads and show their contracts')
    .option('--config <file>', 'YAML or JSON file with auth and maskedMembers: docs/console-platform.md')
    .action(async (flags: Flags) => {
      const { serveConsole } = await loadConsole()
      const log = consoleLog(false)
      const { url: database } = await attachDatabase(log)
      // A wrong environment or an old schema is refused here, before anything listens.
      await withGuardedPool(database, async () => {})
      const { auth = { kind: 'link' }, ...config } =
        flags.config === undefined ? {} : readConfig(flags.config)
      const served = await serveConsole({
        ...config,
        auth,
        database,
        port: wholeNumber(flags.port, '--port', 'onceward console --help'),
        host: flags.host,
        basePath: flags.basePath,
        person: flags.person ?? userInfo().username,
        contracts: await Promise.all((flags.contract ?? []).map(file => loadConsumer(file))),
      })
      log.info('console', { url: served.url })
      if (served.signInUrl !== null)
        process.stdout.write(`Sign in once, within ten minutes:\n${served.signInUrl}\n`)
      await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
      await served.close()
    })
}

async function loadConsole(): Promise<ConsolePackage> {
  const name = '@onceward/console'
  try {
    return (await import(name)) as ConsolePackage
  } catch (cause) {
    if ((cause as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new OncewardError(
      'usage',
      'The package @onceward/console is not installed. Nothing was started. Install it: npm install @onceward/console',
      { cause },
    )
  }
}

function readConfig(file: string): { readonly auth?: object } {
  try {
    return (parse(readFileSync(file, 'utf8')) ?? {}) as { readonly auth?: object }
  } catch (cause) {
    throw new OncewardError('usage', `${file} cannot be read: ${errorCode(cause)}. Nothing was started.`, {
      cause,
    })
  }
}
